// The special-function unit, bit for bit: what the instructions MUFU.RCP, RSQ, SQRT, EX2, LG2 and TANH return for f32
// patterns. Integer arithmetic alone. Subnormal arguments and results count as zeros with their sign, tanh excepted; every
// NaN is 0x7fffffff. README.md says how each was found and checked.
#pragma once

#include <cstdint>

#include "kernels/special_functions/tables.h"

namespace flashproof::special {

inline constexpr std::uint32_t kNan = 0x7fffffff, kInfinity = 0x7f800000, kSign = 0x80000000, kOne = 0x3f800000;
inline constexpr std::uint32_t kFraction = 0x007fffff, kHidden = 0x00800000;

FP_BOTH inline int biased_exponent(std::uint32_t x) { return static_cast<int>(x >> 23 & 255U); }
FP_BOTH inline bool is_nan(std::uint32_t x) { return (x & ~kSign) > kInfinity; }

namespace detail {

/// `mantissa`, 2^23 to 2^24, as a float whose exponent field would be `exponent` at 2^23.
FP_BOTH inline std::int64_t place(std::int64_t mantissa, int exponent) {
  return mantissa + (std::int64_t{exponent} - 1) * (1 << 23);
}

/// v > 0 in fixed point with `fraction` bits behind the point, as a float, cut to 24 bits.
FP_BOTH inline std::uint32_t normalise(std::int64_t v, int fraction) {
#if defined(__CUDA_ARCH__)
  const int top = 63 - __clzll(v);
#else
  const int top = 63 - __builtin_clzll(static_cast<unsigned long long>(v));
#endif
  const std::int64_t mantissa = top >= 23 ? v >> (top - 23) : v << (23 - top);
  return static_cast<std::uint32_t>(127 + top - fraction) << 23 | (static_cast<std::uint32_t>(mantissa) & kFraction);
}

/// The mantissa, with the parity of the exponent above it: [1, 2) and then [2, 4).
FP_BOTH inline std::uint32_t with_parity(std::uint32_t x) { return (x & kFraction) | (~(x >> 23) & 1U) << 23; }

}  // namespace detail

FP_BOTH inline std::uint32_t unit_rcp(const Tables& tables, std::uint32_t x) {
  const std::uint32_t sign = x & kSign, f = x & kFraction;
  const int e = biased_exponent(x);
  if (e == 0) return sign | kInfinity;
  if (e == 255) return f != 0 ? kNan : sign;
  const std::uint32_t low = f & 0xffffU;
  const std::int64_t r = interpolate(tables.rcp[f >> 16], low, square(low << 1)) >> 15;
  const std::int64_t bits = detail::place(r, 253 - e);
  return bits < kHidden ? sign : sign | static_cast<std::uint32_t>(bits);
}

FP_BOTH inline std::uint32_t unit_rsqrt(const Tables& tables, std::uint32_t x) {
  const int e = biased_exponent(x);
  if (e == 0) return (x & kSign) | kInfinity;
  if (x == kInfinity) return 0;
  if (x > kInfinity) return kNan;
  const int half = (e - 127) >> 1;
  const std::uint32_t f = detail::with_parity(x);
  if (f == 0) return static_cast<std::uint32_t>(127 - half) << 23;  // powers of four are exact
  const std::uint32_t low = f & 0x1ffffU;
  const std::int64_t r = interpolate(tables.rsqrt[f >> 17], low, square(low)) >> 16;
  return static_cast<std::uint32_t>(detail::place(r, 126 - half));
}

/// A table of its own, not x·rsqrt(x).
FP_BOTH inline std::uint32_t unit_sqrt(const Tables& tables, std::uint32_t x) {
  const int e = biased_exponent(x);
  if (e == 0) return x & kSign;
  if (x == kInfinity) return x;
  if (x > kInfinity) return kNan;
  const std::uint32_t f = detail::with_parity(x), low = f & 0x1ffffU;
  const std::int64_t r = interpolate(tables.sqrt[f >> 17], low, square(low)) >> 17;
  return static_cast<std::uint32_t>(detail::place(r, 127 + ((e - 127) >> 1)));
}

/// The argument is cut to 23 bits behind the point. Below 0 the fraction is complemented bit by bit, which puts it 2^-23
/// too low: 2^x for x < 0 errs by up to 2.1 ulp, above 0 by 1.4.
FP_BOTH inline std::uint32_t unit_ex2(const Tables& tables, std::uint32_t x) {
  const int e = biased_exponent(x);
  if (is_nan(x)) return kNan;
  if (e >= 127 + 7) return (x & kSign) != 0 ? 0 : kInfinity;
  if (e < 127 - 23) return kOne;
  const std::uint32_t m = (x & kFraction) | kHidden;
  const std::uint32_t fixed = e >= 127 ? m << (e - 127) : m >> (127 - e);
  int n = static_cast<int>(fixed >> 23);
  std::uint32_t f = fixed & kFraction;
  if ((x & kSign) != 0) {
    n = f != 0 ? -n - 1 : -n;
    f = f != 0 ? f ^ kFraction : 0;
  }
  const std::uint32_t low = f & 0x1ffffU;
  const std::int64_t r = interpolate(tables.ex2[f >> 17], low, square(low)) >> 15;
  const std::int64_t bits = detail::place(r, 127 + n);
  if (bits >= kInfinity) return kInfinity;
  return bits < kHidden ? 0 : static_cast<std::uint32_t>(bits);
}

/// Exponent and interpolated logarithm of the mantissa are one fixed-point number with 36 bits behind the point, which is
/// complemented where it is negative, and then cut to 24 bits.
FP_BOTH inline std::uint32_t unit_lg2(const Tables& tables, std::uint32_t x) {
  const int e = biased_exponent(x);
  if (e == 0) return kSign | kInfinity;
  if (x == kInfinity) return x;
  if (x > kInfinity) return kNan;
  if (x == kOne) return 0;
  const std::uint32_t f = x & kFraction, low = f & 0x1ffffU;
  std::int64_t v = (interpolate(tables.lg2[f >> 17], low, square(low)) >> 2) + std::int64_t{e - 127} * (1LL << 36);
  const std::uint32_t sign = v < 0 ? kSign : 0;
  if (v < 0) v = ~v;
  return v == 0 ? 0 : sign | detail::normalise(v, 36);
}

/// Odd. Below 2^-8 it is x itself, subnormals included, from 8 on 1. Where a binade has fewer than 64 segments, the bits
/// of the argument below the 17 that a segment takes are ignored.
FP_BOTH inline std::uint32_t unit_tanh(const Tables& tables, std::uint32_t x) {
  const std::uint32_t sign = x & kSign, f = x & kFraction;
  const int e = biased_exponent(x) - 127;
  if (is_nan(x)) return kNan;
  if (e < -8) return x;
  if (e >= 3) return sign | kOne;
  const int segments = tanh_segments(e);
  const std::uint32_t within = f >> (6 - segments);  // 17 bits of a segment below its number
  const std::uint32_t low = within & 0x1ffffU;
  const std::int64_t v = interpolate(tables.tanh[tables.tanh_first[e + 8] + (within >> 17)], low, square(low));
  return sign | detail::normalise(v, 39);
}

}  // namespace flashproof::special
