// exp, exp2, log, log2, tanh and maximum whose results are the same bits on every machine and under every compiler.
//
// CUDA's own exp2f is a hardware table, and its logf and log2f change with -fmad; glibc's differ from all of them. Here
// every rounding is spelled out: only intrinsics of one rounding each, integers, compares and selects. No product feeds
// a sum except through __fmaf_rn, so a compiler that contracts a*b+c (g++ does unless told not to) finds nothing to
// contract. There are no branches: g++ and clang vectorise a loop over any of these functions.
//
// Every NaN result is 0x7fffffff, which is what a GPU makes. Subnormal arguments and results are honoured.
#pragma once

#include <cstdint>

#include "kernels/simt/det_math/det_coefficients.h"
#include "kernels/simt/simt.h"

namespace flashproof::FP_EXECUTOR {
namespace det {

inline constexpr std::int32_t kNan = 0x7fffffff;
inline constexpr std::int32_t kInfinity = 0x7f800000;
inline constexpr std::int32_t kMinusInfinity = -0x00800000;  // the bits 0xff800000

__device__ __forceinline__ bool is_nan(float x) { return (__float_as_int(x) & 0x7fffffff) > kInfinity; }
__device__ __forceinline__ bool is_infinite(float x) { return (__float_as_int(x) & 0x7fffffff) == kInfinity; }

/// condition ? chosen : otherwise, by masks: behind `?:` g++ 12 moves the computation of `otherwise` into a branch, and
/// then does not vectorise the loop around it.
__device__ __forceinline__ float choose(bool condition, std::int32_t chosen, float otherwise) {
  const std::int32_t mask = -static_cast<std::int32_t>(condition);
  return __int_as_float((chosen & mask) | (__float_as_int(otherwise) & ~mask));
}

__device__ __forceinline__ float clamp(float x, float low, float high) {  // a NaN stays a NaN
  x = choose(x > high, __float_as_int(high), x);
  return choose(x < low, __float_as_int(low), x);
}

/// 2^n for −126 ≤ n ≤ 127; garbage, but defined, outside.
__device__ __forceinline__ float power_of_two(std::int32_t n) {
  return __int_as_float(static_cast<std::int32_t>(static_cast<std::uint32_t>(n + 127) << 23));
}

/// p · 2^n with one rounding, for p in [½, 2] and −160 ≤ n ≤ 130: the first factor is exact, the second rounds only
/// where the result is subnormal, and overflows to infinity by itself.
__device__ __forceinline__ float scale(float p, std::int32_t n) {
  const std::int32_t half = n >> 1;
  return __fmul_rn(__fmul_rn(p, power_of_two(half)), power_of_two(n - half));
}

/// Adding 1.5·2^23 rounds |x| < 2^22 to an integer (to nearest even), which then lies in the low bits of the sum.
inline constexpr float kRoundShift = 0x1.8p23f;

__device__ __forceinline__ std::int32_t shifted_integer(float shifted) {
  return (__float_as_int(shifted) & 0x007fffff) - 0x00400000;
}

/// 2^x = 2^n · 2^r, n = rint(x), r = x − n exact, |r| ≤ ½, and 2^r = 1 + r·q(r).
template <class C>
__device__ __forceinline__ float exp2_with(float x) {
  const float y = clamp(x, -151.0f, 129.0f);  // 2^-151 rounds to 0, 2^129 to infinity
  const float shifted = __fadd_rn(y, kRoundShift);
  const float r = __fsub_rn(y, __fsub_rn(shifted, kRoundShift));
  float q = __fmaf_rn(C::c7, r, C::c6);
  q = __fmaf_rn(q, r, C::c5);
  q = __fmaf_rn(q, r, C::c4);
  q = __fmaf_rn(q, r, C::c3);
  q = __fmaf_rn(q, r, C::c2);
  q = __fmaf_rn(q, r, C::c1);
  const float result = scale(__fmaf_rn(q, r, 1.0f), shifted_integer(shifted));
  return choose(is_nan(x), kNan, result);
}

/// e^x = 2^n · e^r, n = rint(x·log2 e), r = x − n·ln 2, |r| ≤ 0.3467, and e^r = 1 + (r + r²·q(r)).
/// x − n·fl(ln 2) is exact: both terms are multiples of 2^-25 (n ≠ 0 only where |x| > ¼) and the difference is below
/// ½. Only the second step rounds, to within 2^-26.
template <class C>
__device__ __forceinline__ float exp_with(float x) {
  const float y = clamp(x, -105.0f, 90.0f);  // e^-105 < 2^-151 rounds to 0, e^90 > 2^129 to infinity
  const float shifted = __fmaf_rn(y, C::log2_e, kRoundShift);
  const float n = __fsub_rn(shifted, kRoundShift);
  const float r = __fmaf_rn(n, -C::ln2_low, __fmaf_rn(n, -C::ln2_high, y));
  float q = __fmaf_rn(C::c7, r, C::c6);
  q = __fmaf_rn(q, r, C::c5);
  q = __fmaf_rn(q, r, C::c4);
  q = __fmaf_rn(q, r, C::c3);
  q = __fmaf_rn(q, r, C::c2);
  const float result = scale(__fadd_rn(1.0f, __fmaf_rn(q, __fmul_rn(r, r), r)), shifted_integer(shifted));
  return choose(is_nan(x), kNan, result);
}

/// x = 2^e · (1 + f) with 1 + f in [2/3, 4/3), so that f is exact and e = 0 around x = 1.
struct Split {
  float e, f;
};

__device__ __forceinline__ Split split(float x) {
  const bool tiny = __float_as_int(x) < 0x00800000;  // subnormal; also every negative x, which special_log overwrites
  const float normal = choose(!tiny, __float_as_int(x), __fmul_rn(x, 0x1p24f));
  const auto bits = static_cast<std::uint32_t>(__float_as_int(normal));
  const std::int32_t e = static_cast<std::int32_t>(bits - 0x3f2aaaabu) >> 23;  // 0x3f2aaaab is 2/3
  const auto m = static_cast<std::int32_t>(bits - (static_cast<std::uint32_t>(e) << 23));
  return {static_cast<float>(e - 24 * static_cast<std::int32_t>(tiny)), __fsub_rn(__int_as_float(m), 1.0f)};
}

/// Replaces `result` where x is not a positive finite number.
__device__ __forceinline__ float special_log(float x, float result) {
  const std::int32_t bits = __float_as_int(x);
  result = choose(bits == kInfinity, kInfinity, result);
  result = choose(bits < 0 || bits > kInfinity, kNan, result);
  return choose((bits & 0x7fffffff) == 0, kMinusInfinity, result);
}

/// ln x = e·ln 2 + f + f²·q(f). high + low is e·fl(ln 2) + f to twice the precision, so that only the last addition
/// rounds much, also where e·ln 2 and f cancel in part (e = ±1).
template <class C>
__device__ __forceinline__ float log_with(float x) {
  const auto [e, f] = split(x);
  const float high = __fmaf_rn(e, C::ln2_high, f);
  const float low = __fmaf_rn(e, C::ln2_low, __fsub_rn(f, __fmaf_rn(e, -C::ln2_high, high)));
  float q = __fmaf_rn(C::c11, f, C::c10);
  q = __fmaf_rn(q, f, C::c9);
  q = __fmaf_rn(q, f, C::c8);
  q = __fmaf_rn(q, f, C::c7);
  q = __fmaf_rn(q, f, C::c6);
  q = __fmaf_rn(q, f, C::c5);
  q = __fmaf_rn(q, f, C::c4);
  q = __fmaf_rn(q, f, C::c3);
  q = __fmaf_rn(q, f, C::c2);
  return special_log(x, __fadd_rn(high, __fmaf_rn(__fmul_rn(f, f), q, low)));
}

/// log2 x = e + f·log2 e + f²·q(f), with high + low = e + f·fl(log2 e) to twice the precision.
template <class C>
__device__ __forceinline__ float log2_with(float x) {
  const auto [e, f] = split(x);
  const float high = __fmaf_rn(f, C::log2_e_high, e);
  const float low = __fmaf_rn(f, C::log2_e_high, __fsub_rn(e, high));
  float q = __fmaf_rn(C::c11, f, C::c10);
  q = __fmaf_rn(q, f, C::c9);
  q = __fmaf_rn(q, f, C::c8);
  q = __fmaf_rn(q, f, C::c7);
  q = __fmaf_rn(q, f, C::c6);
  q = __fmaf_rn(q, f, C::c5);
  q = __fmaf_rn(q, f, C::c4);
  q = __fmaf_rn(q, f, C::c3);
  q = __fmaf_rn(q, f, C::c2);
  return special_log(x, __fadd_rn(high, __fmaf_rn(f, __fmaf_rn(q, f, C::log2_e_low), low)));
}

/// tanh |x| = |x| + |x|³·q(x²) below C::kSwitch, 1 − 2/(e^{2|x|} + 1) from there on, with the sign of x. Where the
/// second form begins e^{2|x|} is above 3, so the errors of the exponential, the sum and the quotient count at most half.
template <class C>
__device__ __forceinline__ float tanh_with(float x) {
  const std::int32_t sign = __float_as_int(x) & static_cast<std::int32_t>(0x80000000u);
  const float y = __int_as_float(__float_as_int(x) & 0x7fffffff);
  const float square = __fmul_rn(y, y);
  float q = __fmaf_rn(C::c11, square, C::c9);
  q = __fmaf_rn(q, square, C::c7);
  q = __fmaf_rn(q, square, C::c5);
  q = __fmaf_rn(q, square, C::c3);
  const float small = __fmaf_rn(__fmul_rn(y, square), q, y);
  const float power = exp_with<ExpCoefficients>(__fadd_rn(y, y));
  const float large = __fsub_rn(1.0f, __fdiv_rn(2.0f, __fadd_rn(power, 1.0f)));
  const float size = choose(y < C::kSwitch, __float_as_int(small), large);
  return choose(is_nan(x), kNan, __int_as_float(__float_as_int(size) | sign));
}

}  // namespace det

__device__ __forceinline__ float det_exp(float x) { return det::exp_with<ExpCoefficients>(x); }
__device__ __forceinline__ float det_exp2(float x) { return det::exp2_with<Exp2Coefficients>(x); }
__device__ __forceinline__ float det_log(float x) { return det::log_with<LogCoefficients>(x); }
__device__ __forceinline__ float det_log2(float x) { return det::log2_with<Log2Coefficients>(x); }
__device__ __forceinline__ float det_tanh(float x) { return det::tanh_with<TanhCoefficients>(x); }

/// e^x as kernels with "fast math" compute it: the argument x·fl(log2 e) is rounded, which costs |x|·u more.
__device__ __forceinline__ float det_exp_scaled(float x) { return det_exp2(__fmul_rn(x, ExpCoefficients::log2_e)); }

/// The larger of a and b; NaN if one of them is NaN; +0 counts as larger than −0.
__device__ __forceinline__ float max_nan(float a, float b) {
  const float equal = __int_as_float(__float_as_int(a) & __float_as_int(b));  // +0 from ±0, else a itself
  const float larger = a == b ? equal : (a > b ? a : b);
  return det::is_nan(a) || det::is_nan(b) ? __int_as_float(det::kNan) : larger;
}

}  // namespace flashproof::FP_EXECUTOR
