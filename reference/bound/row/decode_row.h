// A row of a tensor as doubles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "reference/problem/tensor.h"

namespace flashproof::bound {

/// Elements at, at + stride, ...
inline void decode_row(const Tensor& tensor, std::int64_t at, std::int64_t stride, std::int64_t n, double* to) {
  if (tensor.format == Format::f32 && stride == 1) {  // the storage is in the machine's order, as bits() reads it
    const std::byte* const from = tensor.storage.data() + at * static_cast<std::int64_t>(sizeof(float));
    for (std::int64_t c = 0; c < n; ++c) {
      float x = 0;
      std::memcpy(&x, from + c * static_cast<std::int64_t>(sizeof(float)), sizeof(float));
      to[c] = x;
    }
    return;
  }
  for (std::int64_t c = 0; c < n; ++c) to[c] = decode(tensor.format, tensor.bits(at + c * stride));
}

}  // namespace flashproof::bound
