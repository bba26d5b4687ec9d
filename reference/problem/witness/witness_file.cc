#include "reference/problem/witness/witness_file.h"

#include <fmt/format.h>

#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

/// 1.8p-3, without a sign and without 0x, to the last character. The value may overflow to inf.
bool parse_hex(std::string_view digits, double& result) {
#ifdef __cpp_lib_to_chars
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, result, std::chars_format::hex);
  return parsed.ec == std::errc() && parsed.ptr == end;
#else  // libc++, which has from_chars for floating point since version 20 only
  const bool hex_first = !digits.empty() && std::isxdigit(static_cast<unsigned char>(digits[0])) != 0;
  if (!hex_first || digits.find_first_not_of("0123456789abcdefABCDEF.p+-") != digits.npos) return false;
  const std::string text = "0x" + std::string(digits);
  char* end = nullptr;
  errno = 0;
  result = std::strtod(text.c_str(), &end);
  return errno == 0 && end == text.c_str() + text.size();
#endif
}

}  // namespace

std::string WitnessFile::text(const std::string& key) {
  auto field = file_.metadata.extract(key);
  if (field.empty()) throw UsageError(fmt::format("__metadata__: no {}", key));
  return std::move(field.mapped());
}

std::vector<std::int64_t> WitnessFile::counts(const std::string& key) {
  const std::string value = text(key);
  const auto result = parse_counts(value);
  if (!result) throw UsageError(fmt::format("{}: {} must be a list like 0,16,32", key, quote(value)));
  return *result;
}

std::vector<std::int32_t> WitnessFile::int32s(const std::string& key) {
  std::vector<std::int32_t> result;
  for (std::int64_t value : counts(key)) {
    if (value > std::numeric_limits<std::int32_t>::max()) {
      throw UsageError(fmt::format("{}: {}, must be 0..2^31-1", key, value));
    }
    result.push_back(static_cast<std::int32_t>(value));
  }
  return result;
}

std::vector<std::int32_t> WitnessFile::signed_int32s(const std::string& key) {
  const std::string value = text(key);
  const auto list = parse_integers(value);
  if (!list) throw UsageError(fmt::format("{}: {} must be a list like 7,-1,0", key, quote(value)));
  std::vector<std::int32_t> result;
  for (const std::int64_t one : *list) {
    if (one != static_cast<std::int32_t>(one)) {
      throw UsageError(fmt::format("{}: {}, must be -2^31..2^31-1", key, one));
    }
    result.push_back(static_cast<std::int32_t>(one));
  }
  return result;
}

bool WitnessFile::either(const std::string& key, std::string_view yes, std::string_view no) {
  const std::string value = text(key);
  if (value != yes && value != no) {
    throw UsageError(fmt::format("{}: {} must be {} or {}", key, quote(value), yes, no));
  }
  return value == yes;
}

void WitnessFile::expect_empty() const {
  if (!file_.metadata.empty()) {
    throw UsageError(fmt::format("__metadata__: unknown field {}", quote(file_.metadata.begin()->first)));
  }
  if (!file_.tensors.empty()) {
    throw UsageError(fmt::format("tensor {}: not part of this problem", quote(file_.tensors.begin()->first)));
  }
}

void WitnessFile::charge(std::int64_t bytes) {
  if (bytes > kMaxWitnessBytes - storage_) {
    throw UsageError(fmt::format("storage: all tensors together may take {} bytes at most", kMaxWitnessBytes));
  }
  storage_ += bytes;
}

float WitnessFile::f32(const std::string& key) {
  const std::string value = text(key);
  std::string_view digits = value;
  const bool negative = digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  double result = 0;
  bool legal = digits.starts_with("0x");
  if (legal) {
    digits.remove_prefix(2);
    legal = parse_hex(digits, result) && !std::signbit(result) && std::isfinite(result) &&
            round_to(Format::f32, result) == result;
  }
  if (!legal) throw UsageError(fmt::format("{}: {} must be a finite f32 like 0x1.8p-3", key, quote(value)));
  return static_cast<float>(negative ? -result : result);
}

Tensor WitnessFile::tensor(const std::string& name) {
  auto node = file_.tensors.extract(name);
  if (node.empty()) throw UsageError(fmt::format("tensor {}: missing", name));
  const StoredTensor& stored = node.mapped();
  std::vector<std::int64_t> stride = counts("stride." + name);
  const std::string size_text = text("storage." + name);
  const auto size = parse_count(size_text);
  if (!size) throw UsageError(fmt::format("storage.{}: {} must be a number of bytes", name, quote(size_text)));
  charge(*size);
  try {
    return tensor_from_dense(stored.format, stored.shape, std::move(stride), *size, stored.data);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("tensor {}: {}", name, error.what()));
  }
}

WitnessNotes WitnessFile::notes() {
  WitnessNotes result;
  for (auto it = file_.metadata.begin(); it != file_.metadata.end();) {
    if (!it->first.starts_with(kNotePrefix)) {
      ++it;
      continue;
    }
    const std::string key = it->first.substr(kNotePrefix.size());
    if (!is_name(key)) throw UsageError(fmt::format("note {}: must be [a-z][a-z0-9_]*", quote(key)));
    result.emplace(key, std::move(it->second));
    it = file_.metadata.erase(it);
  }
  return result;
}

void Draft::notes(const WitnessNotes& notes) {
  for (const auto& [key, value] : notes) {
    if (!is_name(key)) throw UsageError(fmt::format("note {}: must be [a-z][a-z0-9_]*", quote(key)));
    text(std::string(kNotePrefix) + key, value);
  }
}

}  // namespace flashproof
