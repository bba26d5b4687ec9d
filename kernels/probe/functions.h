// The functions that the probe certifies, over which intervals, and against which truth. Plain data: the device code
// (functions_device.cu) runs the function of the same name.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/probe/both.h"

namespace flashproof::probe {

enum class Truth : std::uint8_t { exp, exp2, log, log2, tanh, reciprocal, quotient };

/// Every f32 in [low, high], and if `mirrored` their negatives.
struct Region {
  std::string_view name;
  float low, high;
  bool mirrored;
  bool relative;
};

struct Function {
  std::string_view name;
  Truth truth;
  std::span<const Region> regions;
  double self_check = 0;  // the error of its first region that a CPU certified with MPFR; 0: none
};

inline constexpr int kMostRegions = 4;

/// Every function, the deterministic ones first: their figures are known, and check the probe itself.
std::span<const Function> functions();

FP_PROBE_BOTH constexpr bool is_exponential(Truth truth) { return truth == Truth::exp || truth == Truth::exp2; }
FP_PROBE_BOTH constexpr bool is_logarithm(Truth truth) { return truth == Truth::log || truth == Truth::log2; }

/// The numerator of Truth::quotient, in [1, 2), from the bits of the divisor.
FP_PROBE_BOTH constexpr std::uint32_t numerator_bits(std::uint32_t divisor) {
  std::uint32_t h = divisor * 0x9e3779b1U;
  h ^= h >> 15;
  h *= 0x85ebca77U;
  h ^= h >> 13;
  return 0x3f800000U | (h >> 9);
}

}  // namespace flashproof::probe
