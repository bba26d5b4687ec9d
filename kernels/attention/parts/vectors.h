// Eight neighbouring elements of a row at once: loads of 16 bytes, or 8 for elements of one, where the tensor's layout
// allows them, else one by one.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/simt/simt.h"
#include "kernels/simt/storage.h"
#include "reference/problem/formats.h"

namespace flashproof::FP_EXECUTOR {

/// Calls f.operator()<F>() for the constant F that equals `format`, one that inputs have: dispatch_format() does so for
/// outputs.
template <class Function>
void dispatch_input_format(Format format, Function&& f) {
  if (format == Format::e4m3fn) {
    f.template operator()<Format::e4m3fn>();
  } else if (format == Format::e5m2) {
    f.template operator()<Format::e5m2>();
  } else {
    dispatch_format(format, f);
  }
}

/// Every row of the tensor begins at a multiple of 16 bytes, 8 where eight columns are no more, and every eight columns
/// are wholly inside or outside it.
inline bool rows_are_vectors(const void* base, const std::int64_t (&stride)[4], Format format, int dim) {
  const std::int64_t elements = format == Format::f32 ? 4 : 8;  // of one load
  bool aligned = reinterpret_cast<std::uintptr_t>(base) % 16 == 0 && stride[3] == 1 && dim % 8 == 0;
  for (int axis = 0; axis < 3; ++axis) {
    aligned = aligned && stride[axis] % elements == 0;
  }
  return aligned;
}

template <Format F>
__device__ __forceinline__ float low_half(unsigned bits) {
  const auto half = static_cast<std::uint16_t>(bits & 0xffffU);
  return F == Format::f16 ? storage::from_f16(half) : storage::from_bf16(half);
}

/// Elements column .. column + 7 of a row, 0 beyond `dim`. kVector: they stay as they were loaded until they are used, and
/// nothing branches, so that many loads can be under way.
template <Format F, bool kVector>
struct Eight {
  float x[8];

  __device__ __forceinline__ void load(const void* base, std::int64_t offset, std::int64_t stride, int column,
                                       int dim) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      x[i] = column + i < dim ? flashproof::FP_EXECUTOR::load<F>(base, offset + (column + i) * stride) : 0.0F;
    }
  }
  __device__ __forceinline__ void get(float (&value)[8]) const {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      value[i] = x[i];
    }
  }
};

template <Format F>
struct Eight<F, true> {
  static constexpr int kWords = F == Format::f32 ? 2 : 1;  // of 16 bytes
  using Element = std::conditional_t<F == Format::f32, float, std::uint16_t>;
  uint4 raw[kWords];

  __device__ __forceinline__ void load(const void* base, std::int64_t offset, std::int64_t /*stride*/, int column,
                                       int dim) {
    const bool there = column < dim;
    const Element* from = static_cast<const Element*>(base) + offset + (there ? column : 0);
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      const uint4 loaded = load_u32x4(from + 4 * word);
      raw[word].x = there ? loaded.x : 0U;
      raw[word].y = there ? loaded.y : 0U;
      raw[word].z = there ? loaded.z : 0U;
      raw[word].w = there ? loaded.w : 0U;
    }
  }
  __device__ __forceinline__ void get(float (&value)[8]) const {
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      const unsigned bits[4] = {raw[word].x, raw[word].y, raw[word].z, raw[word].w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if constexpr (F == Format::f32) {
          value[4 * word + i] = __uint_as_float(bits[i]);
        } else {
          value[2 * i] = low_half<F>(bits[i]);
          value[2 * i + 1] = low_half<F>(bits[i] >> 16);
        }
      }
    }
  }
};

template <Format F>
  requires kIsFp8<F>
struct Eight<F, true> {
  std::uint64_t raw;

  __device__ __forceinline__ void load(const void* base, std::int64_t offset, std::int64_t /*stride*/, int column,
                                       int dim) {
    const bool there = column < dim;
    const auto loaded = storage::load_bits<std::uint64_t>(base, (offset + (there ? column : 0)) / 8);
    raw = there ? loaded : 0U;
  }
  __device__ __forceinline__ void get(float (&value)[8]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t pair = fp8x2_to_f16x2<F>(static_cast<std::uint16_t>(raw >> (16 * i)));
      value[2 * i] = low_half<Format::f16>(pair);
      value[2 * i + 1] = low_half<Format::f16>(pair >> 16);
    }
  }
};

}  // namespace flashproof::FP_EXECUTOR
