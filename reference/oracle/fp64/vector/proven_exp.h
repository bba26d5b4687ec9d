// exp in double with a proven error: Cody-Waite reduction, degree-11 polynomial, Horner by FMA. The proofs are the
// scripts of reference/oracle/proofs, which read the constants from this file. exp-inl.h is the Highway form: the same
// operations in the same order, hence the same bits in every lane.
#pragma once

#include <cstdint>
#include <cstring>

#include "reference/oracle/fp64/rounded.h"

namespace flashproof {

/// proven_exp(x) = e^x·(1 + ε), |ε| <= kExpError for x in [kExpLowest, kExpHighest]. What is proven is kExpProvenError;
/// the rest is left to users as room for their own second-order terms.
inline constexpr double kExpError = 0x1p-52;
inline constexpr double kExpProvenError = 1.31 * 0x1p-53;
inline constexpr double kExpLowest = -707;
inline constexpr double kExpHighest = 709;

inline constexpr double kLog2E = 0x1.71547652b82fep0;
/// ln 2 = kLn2High + kLn2Low + (less than 2^-98). kLn2High has 42 bits and |k| <= 1023, so k·kLn2High is exact.
inline constexpr double kLn2High = 0x1.62e42fefa38p-1;
inline constexpr double kLn2Low = 0x1.ef35793c7673p-45;
/// 1.5·2^52. Adding it to |y| < 2^51 rounds y to the nearest integer, which is then also in the low bits of the sum.
inline constexpr double kExpShifter = 0x1.8p52;

/// e^r ≈ 1 + r + kExpC2·r² + … + kExpC11·r^11 for |r| <= 0.34658.
inline constexpr double kExpC2 = 0x1.000000000000ap-1;
inline constexpr double kExpC3 = 0x1.55555555554fep-3;
inline constexpr double kExpC4 = 0x1.55555555506bfp-5;
inline constexpr double kExpC5 = 0x1.1111111126b36p-7;
inline constexpr double kExpC6 = 0x1.6c16c18475fabp-10;
inline constexpr double kExpC7 = 0x1.a01a012fed2f7p-13;
inline constexpr double kExpC8 = 0x1.a019996298ecdp-16;
inline constexpr double kExpC9 = 0x1.71df18f7a1dd8p-19;
inline constexpr double kExpC10 = 0x1.28adf8e81298cp-22;
inline constexpr double kExpC11 = 0x1.ad92d1e47a0d8p-26;

/// 2^k for the integer k that `shifted` = kExpShifter + k holds in its low bits; -1022 <= k <= 1023.
FLASHPROOF_HOST_DEVICE inline double power_of_two_from_shifted(double shifted) {
  std::uint64_t bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  // The shift drops all of the shifter's own bits and leaves k·2^52 modulo 2^64; the sum adds the exponent's bias.
  bits = (bits << 52) + 0x3ff0000000000000u;
  double power;
  std::memcpy(&power, &bits, sizeof power);
  return power;
}

/// e^x for x in [-707, 709] (outside: arbitrary; NaN and ±inf give NaN). Needs round-to-nearest.
/// Exactly 1 at ±0; <= 1 for x <= 0 and >= 1 for x >= 0. Proof: with k = 0 the last step rounds 1 + q·r, where q > 0 and
/// r = x, and rounding is monotone; with k != 0, |r| <= 0.34658 makes p lie in (0.7, 1.42), and 2^k·p is below 0.71 for
/// k <= -1 and above 1.4 for k >= 1. The scaling by 2^k is exact: p·2^k >= 0.7·2^-1020 is normal.
FLASHPROOF_HOST_DEVICE inline double proven_exp(double x) {
  const double shifted = rounded_fma(x, kLog2E, kExpShifter);
  const double k = rounded_subtract(shifted, kExpShifter);
  const double exact = rounded_fma(-k, kLn2High, x);  // no rounding error: a multiple of 2^-54 below 1/2
  const double r = rounded_fma(-k, kLn2Low, exact);
  double p = kExpC11;
  p = rounded_fma(p, r, kExpC10);
  p = rounded_fma(p, r, kExpC9);
  p = rounded_fma(p, r, kExpC8);
  p = rounded_fma(p, r, kExpC7);
  p = rounded_fma(p, r, kExpC6);
  p = rounded_fma(p, r, kExpC5);
  p = rounded_fma(p, r, kExpC4);
  p = rounded_fma(p, r, kExpC3);
  p = rounded_fma(p, r, kExpC2);
  p = rounded_fma(p, r, 1.0);
  p = rounded_fma(p, r, 1.0);
  return rounded_multiply(p, power_of_two_from_shifted(shifted));
}

}  // namespace flashproof
