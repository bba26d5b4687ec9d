#include "reference/problem/witness/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "reference/problem/tensor.h"
#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

using nlohmann::json;

constexpr std::string_view kMetadataKey = "__metadata__";
constexpr int kDeepest = 3;  // header, tensor, shape; a scalar inside stands at depth 3

/// The header as a JSON object. Refuses deeper nesting and repeated keys while reading, before anything is built on
/// them.
json parse_header(std::span<const std::byte> header) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    const bool opens = event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
    if (opens && depth >= kDeepest) throw UsageError(fmt::format("header: nested deeper than {} levels", kDeepest));
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second) {
      throw UsageError(fmt::format("header: key {} is given twice", quote(value.get<std::string>())));
    }
    return true;
  };
  // The parser would skip a byte order mark, and end at a zero byte whatever follows it.
  if (header.empty() || header[0] != std::byte{'{'}) throw UsageError("header: must begin with {");
  const auto zero = std::find(header.begin(), header.end(), std::byte{0});
  if (zero != header.end()) {
    throw UsageError(fmt::format("header: not JSON at byte {} of {}", zero - header.begin() + 1, header.size()));
  }
  const auto* text = reinterpret_cast<const char*>(header.data());
  try {
    return json::parse(text, text + header.size(), watch);
  } catch (const json::parse_error& error) {
    throw UsageError(fmt::format("header: not JSON at byte {} of {}", error.byte, header.size()));
  } catch (const json::exception&) {
    throw UsageError("header: holds a number beyond the range of a double");
  }
}

std::map<std::string, std::string> parse_metadata(const json& object) {
  if (!object.is_object()) throw UsageError("__metadata__: must be an object");
  std::map<std::string, std::string> result;
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) throw UsageError(fmt::format("__metadata__ {}: must be a string", quote(key)));
    result.emplace(key, value.get<std::string>());
  }
  return result;
}

std::vector<std::int64_t> parse_integers(const json& array, std::string_view what, std::size_t lo, std::size_t hi) {
  if (!array.is_array() || array.size() < lo || array.size() > hi) {
    throw UsageError(fmt::format("{}: must be a list of {}..{} integers", what, lo, hi));
  }
  std::vector<std::int64_t> result;
  for (const json& item : array) {
    constexpr std::uint64_t kLimit = std::uint64_t{1} << 62;
    if (!item.is_number_unsigned() || item.get<std::uint64_t>() > kLimit) {
      throw UsageError(fmt::format("{}: every item must be an integer 0..2^62", what));
    }
    result.push_back(item.get<std::int64_t>());
  }
  return result;
}

Format parse_dtype(const json& dtype, std::string_view what) {
  if (dtype.is_string()) {
    for (Format format : kAllFormats) {
      if (info(format).safetensors == dtype.get_ref<const std::string&>()) return format;
    }
  }
  throw UsageError(fmt::format("{}: dtype must be F64, F32, F16, BF16, F8_E4M3 or F8_E5M2", what));
}

struct Placed {
  std::string what;  // for messages: tensor "q"
  StoredTensor tensor;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

Placed parse_tensor(const std::string& name, const json& object) {
  Placed result{fmt::format("tensor {}", quote(name)), {}, 0, 0};
  const std::string& what = result.what;
  if (!object.is_object() || object.size() != 3 || !object.contains("dtype") || !object.contains("shape") ||
      !object.contains("data_offsets")) {
    throw UsageError(fmt::format("{}: must have exactly dtype, shape and data_offsets", what));
  }
  result.tensor.format = parse_dtype(object["dtype"], what);
  result.tensor.shape = parse_integers(object["shape"], what + " shape", 1, kMaxTensorAxes);
  const auto offsets = parse_integers(object["data_offsets"], what + " data_offsets", 2, 2);
  result.begin = offsets[0];
  result.end = offsets[1];
  std::int64_t bytes = 0;
  try {
    bytes = storage_bytes(result.tensor.format, result.tensor.shape, dense_stride(result.tensor.shape));
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", what, error.what()));
  }
  if (result.end < result.begin || result.end - result.begin != bytes) {
    throw UsageError(fmt::format("{} data_offsets: [{}, {}], must span the {} bytes of its shape", what, result.begin,
                                 result.end, bytes));
  }
  return result;
}

}  // namespace

Safetensors parse_safetensors(std::span<const std::byte> bytes) {
  if (bytes.size() < 8) throw UsageError(fmt::format("{} bytes, a .safetensors file has at least 8", bytes.size()));
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  const std::size_t largest = std::min(bytes.size() - 8, kMaxHeaderBytes);
  if (length > largest) {
    throw UsageError(fmt::format("header length: {}, must be 2..{} in this file", length, largest));
  }
  const json header = parse_header(bytes.subspan(8, length));
  const std::span<const std::byte> data = bytes.subspan(8 + length);

  Safetensors file;
  std::vector<Placed> placed;
  std::vector<std::string> names;
  for (const auto& [key, value] : header.items()) {
    if (key == kMetadataKey) {
      file.metadata = parse_metadata(value);
      continue;
    }
    placed.push_back(parse_tensor(key, value));
    names.push_back(key);
  }

  // In file order the ranges must follow each other from the first byte to the last.
  std::vector<std::size_t> order(placed.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(placed[a].begin, placed[a].end) < std::pair(placed[b].begin, placed[b].end);
  });
  std::int64_t next = 0;
  const auto size = static_cast<std::int64_t>(data.size());
  for (std::size_t i : order) {
    Placed& p = placed[i];
    if (p.begin != next || p.end > size) {
      throw UsageError(fmt::format("{} data_offsets: [{}, {}], must begin at {} and end within {} bytes of data",
                                   p.what, p.begin, p.end, next, size));
    }
    p.tensor.data = data.subspan(static_cast<std::size_t>(p.begin), static_cast<std::size_t>(p.end - p.begin));
    next = p.end;
    file.tensors.emplace(names[i], std::move(p.tensor));
  }
  if (next != size) throw UsageError(fmt::format("{} bytes of data, the tensors take {}", size, next));
  return file;
}

std::vector<std::byte> format_safetensors(const Safetensors& file) {
  std::vector<std::pair<std::string_view, const StoredTensor*>> order;
  order.reserve(file.tensors.size());
  for (const auto& [name, tensor] : file.tensors) order.emplace_back(name, &tensor);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    const int a_bits = info(a.second->format).bits, b_bits = info(b.second->format).bits;
    return a_bits != b_bits ? a_bits > b_bits : a.first < b.first;
  });

  json header = {{kMetadataKey, file.metadata}};
  std::size_t offset = 0;
  for (const auto& [name, tensor] : order) {
    header[std::string(name)] = {{"dtype", info(tensor->format).safetensors},
                                 {"shape", tensor->shape},
                                 {"data_offsets", {offset, offset + tensor->data.size()}}};
    offset += tensor->data.size();
  }
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > kMaxHeaderBytes) {
    throw UsageError(fmt::format("header: {} bytes, must be at most {}", text.size(), kMaxHeaderBytes));
  }

  std::vector<std::byte> bytes(8 + text.size());
  const std::uint64_t length = text.size();
  std::memcpy(bytes.data(), &length, 8);
  std::memcpy(bytes.data() + 8, text.data(), text.size());
  bytes.reserve(bytes.size() + offset);
  for (const auto& [name, tensor] : order) bytes.insert(bytes.end(), tensor->data.begin(), tensor->data.end());
  return bytes;
}

}  // namespace flashproof
