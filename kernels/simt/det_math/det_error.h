// How far det_exp, det_exp2, det_log, det_log2 and det_tanh can be from the truth. Plain numbers for the bounds, no device code.
//
// Each is the maximum over all 2^32 patterns, rounded up in the fourth digit; det_math_exhaustive_test.cc measures it
// again and fails if it is above the constant or below 0.9 of it. In ulp of the result: exp 0.962, exp2 0.765, log
// 0.810, log2 0.871.
#pragma once

namespace flashproof {

/// Relative error where the true result is normal, i.e. at least 2^-126. (A logarithm is always normal or exactly 0.)
/// e^0 = 2^0 = 1 and log 1 = 0 exactly. A result overflows to infinity only where the truth is above
/// (2^128 − 2^103)·(1 − error).
inline constexpr double kDetExpError = 1.379 * 0x1p-24;   // 1.378566 at x = 0x1.4cc75ep+2
inline constexpr double kDetExp2Error = 1.090 * 0x1p-24;  // 1.089736 at x = -0x1.ffd342p-2
inline constexpr double kDetLogError = 1.428 * 0x1p-24;   // 1.427509 at x = 0x1.55de9cp+0
inline constexpr double kDetLog2Error = 1.351 * 0x1p-24;  // 1.350116 at x = 0x1.68b53cp-1

/// Absolute error where the true result is below 2^-126.
inline constexpr double kDetExpSubnormalError = 0.7505 * 0x1p-149;   // 0.750460 at x = -0x1.5fc74ep+6
inline constexpr double kDetExp2SubnormalError = 0.8677 * 0x1p-149;  // 0.867696 at x = -0x1.f9e7a8p+6

/// det_tanh: absolute, and relative where the true result is normal.
inline constexpr double kDetTanhError = 1.421 * 0x1p-24;          // 1.420458 at x = 0x1.202394p-1
inline constexpr double kDetTanhRelativeError = 2.786 * 0x1p-24;  // 2.785044

}  // namespace flashproof
