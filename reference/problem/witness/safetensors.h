// The .safetensors container, without any meaning of ours: 8 bytes header length N (little-endian), N bytes of JSON
//     {"__metadata__": {string: string, ...}, "<tensor>": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
//     ...}
// padded with spaces to a multiple of 8, then the tensors' bytes, which cover the rest without gap or overlap.
// https://huggingface.co/docs/safetensors
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "reference/problem/formats.h"

namespace flashproof {

/// A tensor as it lies in the file: row-major and dense.
struct StoredTensor {
  Format format = Format::f32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;
};

struct Safetensors {
  std::map<std::string, std::string> metadata;
  std::map<std::string, StoredTensor> tensors;
};

inline constexpr std::size_t kMaxHeaderBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxTensorAxes = 8;

/// Throws UsageError, one line, for everything that is not exactly the form above: also for what JSON leaves open
/// (a key twice, nesting). The data of the result point into `bytes`.
Safetensors parse_safetensors(std::span<const std::byte> bytes);

/// Tensors lie in order of falling element size, then name, so that each one is aligned to its elements.
std::vector<std::byte> format_safetensors(const Safetensors& file);

}  // namespace flashproof
