// exp in double-double: three-part ln 2, r/64, Taylor polynomial of degree 10, six squarings. The bound is derived in
// reference/oracle/proofs (prove.py, which reads the constants from here). dd-inl.h is the Highway form.
#pragma once

#include "reference/oracle/double_double/dd.h"
#include "reference/oracle/fp64/vector/proven_exp.h"

namespace flashproof {

/// |exp_dd(x) - e^x| <= kDdExpError·e^x + kDdExpUnderflow for x.hi in [-707, 709]. What is proven in the
/// place of 2^-94 is kDdExpProvenError.
inline constexpr double kDdExpError = 0x1p-94;
inline constexpr double kDdExpProvenError = 0x1.5p-97;
/// The low word loses bits to subnormals below e^-670 or so; half of the least subnormal at most.
inline constexpr double kDdExpUnderflow = 0x1p-1074;

/// ln 2 = kLn2High + kDdLn2Middle + kDdLn2Low + (less than 2^-143); kDdLn2Middle has 42 bits too.
inline constexpr double kDdLn2Middle = 0x1.ef35793c768p-45;
inline constexpr double kDdLn2Low = -0x1.9ff0342542fc3p-90;

/// 1/n!, rounded; for n <= 5 the sum of two doubles.
inline constexpr double kDdExpC3High = 0x1.5555555555555p-3;
inline constexpr double kDdExpC3Low = 0x1.5555555555555p-57;
inline constexpr double kDdExpC4High = 0x1.5555555555555p-5;
inline constexpr double kDdExpC4Low = 0x1.5555555555555p-59;
inline constexpr double kDdExpC5High = 0x1.1111111111111p-7;
inline constexpr double kDdExpC5Low = 0x1.1111111111111p-63;
inline constexpr double kDdExpC6 = 0x1.6c16c16c16c17p-10;
inline constexpr double kDdExpC7 = 0x1.a01a01a01a01ap-13;
inline constexpr double kDdExpC8 = 0x1.a01a01a01a01ap-16;
inline constexpr double kDdExpC9 = 0x1.71de3a556c734p-19;
inline constexpr double kDdExpC10 = 0x1.27e4fb7789f5cp-22;

/// c + p for |p| <= |c|/32, c != 0. Error relative to |c|: the sum of the low words (1.04u²) and its addition to the
/// high words' error (2.1u²); relative to the result at most 3.3u², stated as kDdAddError.
FLASHPROOF_HOST_DEVICE inline DD add_smaller(DD c, DD p) {
  const DD s = fast_two_sum(c.hi, p.hi);
  return fast_two_sum(s.hi, rounded_add(s.lo, rounded_add(c.lo, p.lo)));
}

/// e^x for x.hi in [-707, 709] (outside: arbitrary; NaN and ±inf give NaN).
FLASHPROOF_HOST_DEVICE inline DD exp_dd(DD x) {
  const double shifted = rounded_fma(x.hi, kLog2E, kExpShifter);
  const double k = rounded_subtract(shifted, kExpShifter);
  // r = x - k·ln 2. The first two products and differences are exact (see proven_exp); the third part is not.
  const double exact = rounded_fma(-k, kLn2High, x.hi);
  const DD head = two_sum(exact, rounded_multiply(-k, kDdLn2Middle));
  const DD tail = two_sum(head.hi, x.lo);
  const DD r = two_sum(tail.hi, rounded_fma(-k, kDdLn2Low, rounded_add(head.lo, tail.lo)));
  const DD s = {rounded_multiply(r.hi, 0x1p-6), rounded_multiply(r.lo, 0x1p-6)};
  // Taylor: the terms from s^6 on are below 2^-54 and need only a double.
  double t = kDdExpC10;
  t = rounded_fma(t, s.hi, kDdExpC9);
  t = rounded_fma(t, s.hi, kDdExpC8);
  t = rounded_fma(t, s.hi, kDdExpC7);
  t = rounded_fma(t, s.hi, kDdExpC6);
  DD p = add_smaller(DD{kDdExpC5High, kDdExpC5Low}, s * t);
  p = add_smaller(DD{kDdExpC4High, kDdExpC4Low}, s * p);
  p = add_smaller(DD{kDdExpC3High, kDdExpC3Low}, s * p);
  p = add_smaller(DD{0.5, 0}, s * p);
  p = add_smaller(DD{1, 0}, s * p);
  p = add_smaller(DD{1, 0}, s * p);
  for (int i = 0; i < 6; ++i) p = square(p);
  const double power = power_of_two_from_shifted(shifted);
  return {rounded_multiply(p.hi, power), rounded_multiply(p.lo, power)};
}

}  // namespace flashproof
