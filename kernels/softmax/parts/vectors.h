// Rows dealt to lanes by 16 bytes: lane t has columns kVector·t … kVector·t + kVector − 1, then those kVector·lanes
// further on, and so on (Arithmetic::vector_bytes = 16). Which lane has which column is the same whether the bytes are
// moved 16 at a time or one element at a time, and so are the bits of every result.
#pragma once

#include <cstdint>

#include "kernels/args.h"
#include "kernels/maximum.h"
#include "kernels/simt/simt.h"
#include "kernels/simt/storage.h"

namespace flashproof::FP_EXECUTOR {

inline constexpr int kVectorBytes = 16;
/// Columns in 16 bytes.
template <Format F>
inline constexpr int kVector = F == Format::f32 ? 4 : 8;

/// May every row of x and o be moved 16 bytes at a time, from column 0 on? With row lengths no: what belongs to no row is
/// not read.
inline bool moves_by_vector(const SoftmaxArgs& a) {
  const int vector = a.format == Format::f32 ? kVector<Format::f32> : kVector<Format::f16>;
  const auto aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % kVectorBytes == 0; };
  return a.row_length == nullptr && a.x_col == 1 && a.x_row % vector == 0 && a.cols % vector == 0 && aligned(a.x) &&
         aligned(a.o);
}

/// The larger number; of a NaN the other. Which of two zeros is not defined.
__device__ __forceinline__ float quick_max(float a, float b) {
#if defined(__CUDACC__)
  return fmaxf(a, b);
#else
  return max_num(a, b);
#endif
}

struct QuickMax {
  __device__ float operator()(float p, float q) const { return quick_max(p, q); }
};

template <Format F>
__device__ __forceinline__ float unpack(std::uint32_t word, int half) {
  if constexpr (F == Format::f32) {
    return __uint_as_float(word);
  } else {
    const auto bits = static_cast<std::uint16_t>(half == 0 ? word & 0xffffU : word >> 16);
    return F == Format::f16 ? storage::from_f16(bits) : storage::from_bf16(bits);
  }
}

/// A word of storage: two neighbours, of f32 only `low`.
template <Format F>
__device__ __forceinline__ std::uint32_t pack_pair(float low, float high) {
  if constexpr (F == Format::f32) {
    return __float_as_uint(det::choose(det::is_nan(low), det::kNan, low));
  } else {
#if defined(__CUDACC__)
    // One conversion of two, whose NaN is 0x7fff: storage.h.
    std::uint32_t word;
    if constexpr (F == Format::f16) {
      asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    } else {
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    }
    return word;
#else
    const auto bits = [](float x) { return F == Format::f16 ? storage::to_f16(x) : storage::to_bf16(x); };
    return bits(low) | static_cast<std::uint32_t>(bits(high)) << 16;
#endif
  }
}

/// Four words of 16 bytes as kVector<F> floats.
template <Format F>
__device__ __forceinline__ void unpack_vector(const uint4& raw, float* x) {
  constexpr int kHalves = kVector<F> / 4;
  const std::uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
  for (int w = 0; w < 4; ++w) {
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
      x[w * kHalves + half] = unpack<F>(words[w], half);
    }
  }
}

template <Format F>
__device__ __forceinline__ uint4 pack_vector(const float* y) {
  constexpr int kHalves = kVector<F> / 4;
  std::uint32_t words[4];
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    words[w] = pack_pair<F>(y[w * kHalves], y[w * kHalves + kHalves - 1]);
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

template <Format F>
__device__ __forceinline__ const void* vector_at(const void* base, std::int64_t element) {
  return static_cast<const char*>(base) + element * (kVectorBytes / kVector<F>);
}
template <Format F>
__device__ __forceinline__ void* vector_at(void* base, std::int64_t element) {
  return static_cast<char*>(base) + element * (kVectorBytes / kVector<F>);
}

/// The vector that begins at `col`; −inf from column `stop` on, which is not read.
template <Format F>
__device__ __forceinline__ uint4 load_dealt(const SoftmaxArgs& a, std::int64_t base, int col, int stop) {
  constexpr int kHalves = kVector<F> / 4;
  std::uint32_t words[4];
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    float x[2] = {kMinusInf, kMinusInf};
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
      const int j = col + w * kHalves + half;
      if (j < stop) x[half] = load<F>(a.x, base + j * a.x_col);
    }
    words[w] = pack_pair<F>(x[0], x[kHalves - 1]);  // exact: the value came from this format
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

template <Format F>
__device__ __forceinline__ uint4 minus_inf_vector() {
  const std::uint32_t word = pack_pair<F>(kMinusInf, kMinusInf);
  return make_uint4(word, word, word, word);
}

}  // namespace flashproof::FP_EXECUTOR
