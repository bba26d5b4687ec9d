// 8-bit floats, e4m3fn and e5m2, on both executors: by bits, or by the GPU's own conversions where it has them (sm_89),
// which round the same.
//
//   from_fp8<F>(byte)            exact
//   to_fp8<F>(x)                 nearest, ties to even; what lies beyond the largest finite value, infinities too, becomes
//                                it (saturating); NaN becomes 0x7f
//   to_fp8x2<F>(low, high)       two at once, low in the low byte
//   fp8x2_to_f16x2<F>(bytes)     exact: both formats lie within f16
#pragma once

#include <cstdint>

#include "kernels/simt/det_math/det_math.h"
#include "kernels/simt/simt.h"
#include "reference/problem/formats.h"

namespace flashproof {

template <Format F>
inline constexpr bool kIsFp8 = F == Format::e4m3fn || F == Format::e5m2;

}  // namespace flashproof

namespace flashproof::FP_EXECUTOR {
namespace fp8 {

template <Format F>
struct Shape {
  static_assert(kIsFp8<F>, "8-bit formats are e4m3fn and e5m2");
  static constexpr bool kE4m3 = F == Format::e4m3fn;
  static constexpr int kFraction = kE4m3 ? 3 : 2;
  static constexpr int kDropped = 23 - kFraction;  // fraction bits of an f32 that have no place
  static constexpr int kBias = kE4m3 ? 7 : 15;
  static constexpr std::uint32_t kLargest = kE4m3 ? 0x7e : 0x7b;
  static constexpr std::uint32_t kFirstNan = kE4m3 ? 0x7f : 0x7d;
  static constexpr std::uint32_t kNan = 0x7f;
  /// Adding it to a magnitude below the least normal number rounds that to the spacing of the subnormals.
  static constexpr float kSubnormalShift = kE4m3 ? 0x1p14F : 0x1p7F;
};

}  // namespace fp8

template <Format F>
__device__ __forceinline__ float from_fp8(std::uint8_t byte) {
  using S = fp8::Shape<F>;
  const std::uint32_t magnitude = byte & 0x7fU;
  const std::uint32_t sign = static_cast<std::uint32_t>(byte & 0x80U) << 24;
  if (magnitude >= S::kFirstNan) return __int_as_float(det::kNan);
  if (!S::kE4m3 && magnitude == S::kLargest + 1) return __uint_as_float(sign | 0x7f800000U);
  // The fields one after another, too small by the difference of the biases: a power of two, exact for subnormals too.
  constexpr float kRebias = S::kE4m3 ? 0x1p120F : 0x1p112F;
  const float scaled = __fmul_rn(__uint_as_float(magnitude << S::kDropped), kRebias);
  return __uint_as_float(sign | __float_as_uint(scaled));
}

template <Format F>
__device__ __forceinline__ std::uint8_t to_fp8(float x) {
  using S = fp8::Shape<F>;
  const std::uint32_t bits = __float_as_uint(x);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const std::uint32_t sign = bits >> 24 & 0x80U;
  if (magnitude > 0x7f800000U) return static_cast<std::uint8_t>(S::kNan);
  std::uint32_t rounded;
  if (magnitude < static_cast<std::uint32_t>(127 + 1 - S::kBias) << 23) {  // below the least normal number
    const float shifted = __fadd_rn(__uint_as_float(magnitude), S::kSubnormalShift);
    rounded = __float_as_uint(shifted) - __float_as_uint(S::kSubnormalShift);
  } else {
    constexpr std::uint32_t kHalf = (1U << (S::kDropped - 1)) - 1;
    const std::uint32_t odd = magnitude >> S::kDropped & 1U;
    const std::uint32_t rebias = static_cast<std::uint32_t>(127 - S::kBias) << S::kFraction;
    rounded = ((magnitude + kHalf + odd) >> S::kDropped) - rebias;
  }
  return static_cast<std::uint8_t>(sign | (rounded < S::kLargest ? rounded : S::kLargest));
}

template <Format F>
__device__ __forceinline__ std::uint16_t to_fp8x2(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  std::uint16_t packed;
  if constexpr (F == Format::e4m3fn) {
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(packed) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(packed) : "f"(high), "f"(low));
  }
  return packed;
#else
  return static_cast<std::uint16_t>(to_fp8<F>(low) | to_fp8<F>(high) << 8);
#endif
}

/// A NaN is 0x7fff, on both executors.
template <Format F>
__device__ __forceinline__ std::uint32_t fp8x2_to_f16x2(std::uint16_t bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  std::uint32_t packed;
  if constexpr (F == Format::e4m3fn) {
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(packed) : "h"(bytes));
  } else {
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(packed) : "h"(bytes));
  }
  return packed;
#else
  std::uint32_t packed = 0;
  for (int i = 0; i < 2; ++i) {
    const std::uint32_t byte = bytes >> (8 * i) & 0xffU;
    std::uint32_t half = (byte & 0x80U) << 8;
    if ((byte & 0x7fU) >= fp8::Shape<F>::kFirstNan) {
      half = 0x7fffU;
    } else if constexpr (F == Format::e5m2) {
      half = byte << 8;
    } else {
      const std::uint32_t magnitude = byte & 0x7fU;
      if (magnitude >= 8) {
        half |= (magnitude << 7) + ((15U - 7U) << 10);
      } else if (magnitude != 0) {  // magnitude · 2^-9, normal in f16
        const int top = magnitude >= 4 ? 2 : magnitude >= 2 ? 1 : 0;
        half |= static_cast<std::uint32_t>(15 - 9 + top) << 10 | (magnitude << (10 - top) & 0x3ffU);
      }
    }
    packed |= half << (16 * i);
  }
  return packed;
#endif
}

}  // namespace flashproof::FP_EXECUTOR
