#include "kernels/ptx/run/arguments.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <random>

#include "kernels/ptx/parse/lexer.h"
#include "kernels/ptx/parse/split.h"
#include "reference/system/error.h"

namespace flashproof::ptx {
namespace {

constexpr std::uint64_t kMaxArrayBytes = 1ULL << 32;

template <class T>
bool read(std::string_view text, T& value, int base = 10) {
  const char* end = text.data() + text.size();
  std::from_chars_result result{};
  if constexpr (std::is_floating_point_v<T>) {
    result = std::from_chars(text.data(), end, value);
  } else {
    result = std::from_chars(text.data(), end, value, base);
  }
  return result.ec == std::errc{} && result.ptr == end && !text.empty();
}

[[noreturn]] void wrong(std::size_t number, const std::string& word, const std::string& legal) {
  throw UsageError(fmt::format("argument {} '{}': {}", number, shown(word), legal));
}

/// Of a scalar parameter, little endian.
std::uint64_t scalar(std::size_t number, const std::string& word, Type type) {
  if (type.kind == 'f') {
    double value = 0;
    if (!read(word, value)) wrong(number, word, fmt::format("a number, of f{}", type.bits));
    return type.bits == 64 ? std::bit_cast<std::uint64_t>(value)
                           : std::bit_cast<std::uint32_t>(static_cast<float>(value));
  }
  const int used = type.bits >= 64 ? 64 : type.bits;
  std::uint64_t bits = 0;
  std::int64_t value = 0;
  if (word.starts_with("0x") ? read(std::string_view(word).substr(2), bits, 16) : read(word, bits)) {
    if (used == 64 || bits >> used == 0) return bits;
  } else if (read(word, value) && value >= INT64_MIN >> (64 - used)) {
    return static_cast<std::uint64_t>(value);
  }
  wrong(number, word, fmt::format("an integer of {} bits, hex:..., in:FORMAT:COUNT:FILL or out:FORMAT:COUNT", used));
}

std::size_t size_of(const std::string& format) {
  if (format == "u8") return 1;
  if (format == "f32" || format == "s32" || format == "u32") return 4;
  return format == "s64" || format == "u64" ? 8 : 0;
}

void fill(std::size_t number, const std::string& word, const std::string& format, const std::string& how,
          std::vector<std::byte>& bytes) {
  std::uint64_t seed = 0;
  const bool random = how.starts_with("random:") && read(std::string_view(how).substr(7), seed);
  if (!random && how != "zero" && how != "one" && how != "iota")
    wrong(number, word, "FILL: zero, one, iota or random:SEED");
  std::mt19937_64 generator(seed);
  const std::size_t size = size_of(format);
  for (std::size_t i = 0; i * size < bytes.size(); ++i) {
    std::uint64_t bits = how == "one" ? 1 : how == "iota" ? i : random ? generator() : 0;
    if (format == "f32") {
      const float value = random ? static_cast<float>(bits >> 40) * 0x1p-23F - 1.0F : static_cast<float>(bits);
      bits = std::bit_cast<std::uint32_t>(value);
    }
    std::memcpy(bytes.data() + i * size, &bits, size);
  }
}

std::string element(const std::string& format, const std::byte* at) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, size_of(format));
  if (format == "f32")
    return fmt::format("{} ({:#010x})", std::bit_cast<float>(static_cast<std::uint32_t>(bits)), bits);
  if (format == "s32") return std::to_string(static_cast<std::int32_t>(bits));
  return format == "s64" ? std::to_string(static_cast<std::int64_t>(bits)) : std::to_string(bits);
}

}  // namespace

Dim parse_dim(const std::string& what, const std::string& text) {
  const std::vector<std::string> parts = split(text, ',');
  std::uint32_t sizes[3] = {1, 1, 1};
  bool right = parts.size() <= 3;
  for (std::size_t i = 0; right && i < parts.size(); ++i) right = read(parts[i], sizes[i]) && sizes[i] > 0;
  if (!right) throw UsageError(fmt::format("{} '{}': one to three numbers above 0, as 64 or 8,2,1", what, shown(text)));
  return {sizes[0], sizes[1], sizes[2]};
}

Arguments::Arguments(const Entry& entry, const std::vector<std::string>& words)
    : parameters_(static_cast<std::size_t>(entry.parameter_bytes)) {
  if (words.size() != entry.parameters.size()) {
    throw UsageError(
        fmt::format("--arg: {} given, {} has {} parameters", words.size(), shown(entry.name), entry.parameters.size()));
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Variable& parameter = entry.parameters[i];
    const std::string& word = words[i];
    std::byte* at = parameters_.data() + parameter.offset;
    if (word.starts_with("in:") || word.starts_with("out:")) {
      if (parameter.bytes() != 8)
        wrong(i + 1, word, fmt::format("the parameter has {} bytes, a pointer 8", parameter.bytes()));
      add_array(i + 1, word, parameter.offset);
    } else if (word.starts_with("hex:")) {
      if (static_cast<std::int64_t>(word.size()) != 4 + 2 * parameter.bytes())
        wrong(i + 1, word, fmt::format("hex: and {} bytes of two digits each", parameter.bytes()));
      for (std::int64_t b = 0; b < parameter.bytes(); ++b) {
        std::uint8_t value = 0;
        if (!read(std::string_view(word).substr(4 + 2 * static_cast<std::size_t>(b), 2), value, 16))
          wrong(i + 1, word, "hexadecimal digits");
        at[b] = static_cast<std::byte>(value);
      }
    } else {
      if (parameter.count != 1 || parameter.bytes() > 8)
        wrong(i + 1, word, fmt::format("a structure of {} bytes is given as hex:...", parameter.bytes()));
      const std::uint64_t bits = scalar(i + 1, word, parameter.type);
      std::memcpy(at, &bits, static_cast<std::size_t>(parameter.bytes()));
    }
  }
}

void Arguments::add_array(std::size_t number, const std::string& word, std::int64_t offset) {
  const bool is_input = word.starts_with("in:");
  const std::vector<std::string> parts = split(word, ':');
  std::uint64_t count = 0;
  const std::size_t size = parts.size() > 1 ? size_of(parts[1]) : 0;
  const bool has_its_words = is_input ? parts.size() >= 4 : parts.size() == 3;
  if (!has_its_words || size == 0 || !read(parts[2], count) || count == 0 || count > kMaxArrayBytes / size) {
    wrong(
        number, word,
        fmt::format("in:FORMAT:COUNT:FILL or out:FORMAT:COUNT, FORMAT f32, s32, u32, s64, u64 or u8, at most {} bytes",
                    kMaxArrayBytes));
  }
  Data& data = data_.emplace_back(Data{parts[1], std::vector<std::byte>(count * size + 256)});
  void* aligned = data.bytes.data();
  std::size_t room = data.bytes.size();
  std::align(256, count * size, aligned, room);
  std::vector<std::byte> values(count * size, std::byte{0xff});
  if (is_input) fill(number, word, parts[1], word.substr(3 + parts[1].size() + 1 + parts[2].size() + 1), values);
  std::memcpy(aligned, values.data(), values.size());
  arrays_.push_back({aligned, count * size, !is_input, fmt::format("argument {}", number)});
  std::memcpy(parameters_.data() + offset, static_cast<const void*>(&aligned), sizeof aligned);
}

std::string Arguments::outputs(std::size_t most) const {
  std::string text;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const Array& array = arrays_[i];
    if (!array.writable) continue;
    const std::string& format = data_[i].format;
    const std::size_t size = size_of(format), count = array.bytes / size;
    text += fmt::format("{}: {} {}\n", array.name, count, format);
    for (std::size_t e = 0; e < std::min(count, most); ++e) {
      text += fmt::format("  [{}] {}\n", e, element(format, static_cast<const std::byte*>(array.data) + e * size));
    }
  }
  return text;
}

}  // namespace flashproof::ptx
