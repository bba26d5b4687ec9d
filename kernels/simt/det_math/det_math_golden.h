// One number that stands for the bits a function gives on a fixed set of arguments. A sum of mixed terms: the order
// does not matter, so that a GPU can form the same number with atomics.
#pragma once

#include <cstdint>

#include "kernels/simt/det_math/det_math.h"

namespace flashproof::FP_EXECUTOR {

/// The finaliser of splitmix64 over argument and result.
__device__ __forceinline__ std::uint64_t golden_term(std::uint32_t pattern, float result) {
  std::uint64_t z = (static_cast<std::uint64_t>(pattern) << 32) | static_cast<std::uint32_t>(__float_as_int(result));
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Patterns 0, stride, 2·stride, …; f is a callable of one float. Single-threaded form.
template <class F>
__device__ std::uint64_t golden_sum(F f, std::uint32_t stride) {
  std::uint64_t sum = 0;
  for (std::uint64_t pattern = 0; pattern < (1ull << 32); pattern += stride) {
    const auto bits = static_cast<std::uint32_t>(pattern);
    sum += golden_term(bits, f(__int_as_float(static_cast<std::int32_t>(bits))));
  }
  return sum;
}

}  // namespace flashproof::FP_EXECUTOR

namespace flashproof {

/// Every 4099th pattern (a prime, so that all exponents and low bits occur).
inline constexpr std::uint32_t kGoldenStride = 4099;
inline constexpr std::uint64_t kGoldenExp = 0xa8de91efd34bc6d1;
inline constexpr std::uint64_t kGoldenExp2 = 0xc13193c0011559a6;
inline constexpr std::uint64_t kGoldenLog = 0x394d2a4f313cbe58;
inline constexpr std::uint64_t kGoldenLog2 = 0x601f94db3f531b97;
inline constexpr std::uint64_t kGoldenTanh = 0x1a7243878ce08cd9;
inline constexpr std::uint64_t kGoldenExpScaled = 0x7534d1b40468afec;
inline constexpr std::uint64_t kGoldenMaxNan = 0xc5efffcb842b39e7;  // of ScrambledMax

/// max_nan of x and of a float with scrambled bits, among them NaNs (1 of 256), subnormals and both signs.
struct ScrambledMax {
  __device__ float operator()(float x) const {
    const std::uint32_t bits = static_cast<std::uint32_t>(__float_as_int(x)) * 2654435761u;
    return FP_EXECUTOR::max_nan(x, __int_as_float(static_cast<std::int32_t>(bits)));
  }
};

}  // namespace flashproof
