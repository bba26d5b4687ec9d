// Double-double arithmetic: x = hi + lo, unevaluated, with hi = RN(hi + lo), hence |lo| <= u·|hi|, u = 2^-53.
// The algorithms and their relative error bounds are those of Joldes, Muller and Popescu, "Tight and rigorous error
// bounds for basic building blocks of double-word arithmetic", ACM TOMS 44(2), 2017 (JMP below, with their algorithm
// numbers); Muller and Rideau (ACM TOMS 48(1), 2022) proved them formally and lowered some. The larger, older bound is
// used here. They hold in round-to-nearest as long as nothing overflows, and a product or quotient does not underflow:
// |hi| of a product at least 2^-900 is enough. dd-inl.h is the Highway form, with the same bits.
#pragma once

#include "reference/oracle/fp64/rounded.h"

namespace flashproof {

struct DD {
  double hi = 0, lo = 0;
};

/// Relative errors of the operations below, against the exact result of the exact operands. 2^-106 = u².
inline constexpr double kDdAddError = 4 * 0x1p-106;        ///< JMP Algorithm 6: 3u²/(1 - 4u)
inline constexpr double kDdAddDoubleError = 2 * 0x1p-106;  ///< JMP Algorithm 4: 2u²
inline constexpr double kDdMulError = 5 * 0x1p-106;        ///< JMP Algorithm 12: 5u²
inline constexpr double kDdMulDoubleError = 2 * 0x1p-106;  ///< JMP Algorithm 9: 2u²
inline constexpr double kDdSquareError = 5 * 0x1p-106;     ///< square(): derived there
inline constexpr double kDdDivError = 16 * 0x1p-106;       ///< JMP Algorithm 17: 15u² + 56u³

/// a + b exactly, for |a| >= |b| or a = 0 (Dekker).
FLASHPROOF_HOST_DEVICE inline DD fast_two_sum(double a, double b) {
  const double s = rounded_add(a, b);
  return {s, rounded_subtract(b, rounded_subtract(s, a))};
}

/// a + b exactly, any order of magnitudes (Knuth, Møller).
FLASHPROOF_HOST_DEVICE inline DD two_sum(double a, double b) {
  const double s = rounded_add(a, b);
  const double a_part = rounded_subtract(s, b);
  const double b_part = rounded_subtract(s, a_part);
  return {s, rounded_add(rounded_subtract(a, a_part), rounded_subtract(b, b_part))};
}

/// a·b exactly, if the product's last bit is not below 2^-1074.
FLASHPROOF_HOST_DEVICE inline DD two_product(double a, double b) {
  const double p = rounded_multiply(a, b);
  return {p, rounded_fma(a, b, -p)};
}

/// JMP Algorithm 6 (AccurateDWPlusDW). The sloppy one has no bound for operands of opposite signs.
FLASHPROOF_HOST_DEVICE inline DD operator+(DD x, DD y) {
  const DD s = two_sum(x.hi, y.hi);
  const DD t = two_sum(x.lo, y.lo);
  const DD v = fast_two_sum(s.hi, rounded_add(s.lo, t.hi));
  return fast_two_sum(v.hi, rounded_add(t.lo, v.lo));
}

/// JMP Algorithm 4 (DWPlusFP).
FLASHPROOF_HOST_DEVICE inline DD operator+(DD x, double y) {
  const DD s = two_sum(x.hi, y);
  return fast_two_sum(s.hi, rounded_add(x.lo, s.lo));
}

FLASHPROOF_HOST_DEVICE inline DD operator-(DD x) { return {-x.hi, -x.lo}; }
FLASHPROOF_HOST_DEVICE inline DD operator-(DD x, DD y) { return x + (-y); }
FLASHPROOF_HOST_DEVICE inline DD operator-(DD x, double y) { return x + (-y); }

/// JMP Algorithm 12 (DWTimesDW3).
FLASHPROOF_HOST_DEVICE inline DD operator*(DD x, DD y) {
  const DD c = two_product(x.hi, y.hi);
  const double low = rounded_multiply(x.lo, y.lo);
  const double cross = rounded_fma(x.lo, y.hi, rounded_fma(x.hi, y.lo, low));
  return fast_two_sum(c.hi, rounded_add(c.lo, cross));
}

/// JMP Algorithm 9 (DWTimesFP3).
FLASHPROOF_HOST_DEVICE inline DD operator*(DD x, double y) {
  const DD c = two_product(x.hi, y);
  return fast_two_sum(c.hi, rounded_fma(x.lo, y, c.lo));
}

/// x². Errors, relative to hi²: lo² is left out (u²), and the FMA rounds a number of at most u + 2u (3u²); 4u²(1 + 4u).
FLASHPROOF_HOST_DEVICE inline DD square(DD x) {
  const DD c = two_product(x.hi, x.hi);
  return fast_two_sum(c.hi, rounded_fma(rounded_add(x.hi, x.hi), x.lo, c.lo));
}

/// JMP Algorithm 17 (DWDivDW2).
FLASHPROOF_HOST_DEVICE inline DD operator/(DD x, DD y) {
  const double quotient = rounded_divide(x.hi, y.hi);
  const DD r = y * quotient;
  const double high_rest = rounded_subtract(x.hi, r.hi);  // exact
  const double rest = rounded_add(high_rest, rounded_subtract(x.lo, r.lo));
  return fast_two_sum(quotient, rounded_divide(rest, y.hi));
}

}  // namespace flashproof
