#include "reference/oracle/double_double/dd.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>

#include "reference/oracle/double_double/dd_exp.h"
#include "reference/oracle/proofs/mpfr_real.h"
#include "reference/problem/random.h"

namespace flashproof {
namespace {

constexpr int kPoints = 100'000;

// One draw per statement: the order of evaluation of arguments is the compiler's choice, the tests' numbers are not.
int random_exponent(Random& random, int range) { return static_cast<int>(random.integer(-range, range)); }

/// A normalised double-double with an exponent in [-range, range]; its low word often has the largest allowed size.
DD random_dd(Random& random, int range) {
  const double sign = random.chance(0.5) ? 1 : -1;
  const double significand = sign * random.uniform(1, 2);
  const double hi = std::ldexp(significand, random_exponent(random, range));
  const double half_ulp = std::ldexp(1.0, std::ilogb(hi) - 53);
  const bool large = random.chance(0.5);
  const double lo = half_ulp * (large ? random.uniform(0.99, 1) : random.uniform(-1, 1));
  return fast_two_sum(hi, lo);
}

/// Second operand: half the time close to -first, so that the high words cancel.
DD partner(Random& random, DD x) {
  if (random.chance(0.5)) return random_dd(random, 60);
  const DD noise = random_dd(random, 0);
  const double scale = std::ldexp(x.hi, static_cast<int>(random.integer(-110, -40)));
  const double hi = -x.hi * (1 + random.uniform(0, 0x1p-50));
  return fast_two_sum(hi, -x.lo + scale * noise.hi);
}

using MpfrOperation = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

/// The largest relative error of `operation` against MPFR, in units of 2^-106.
double worst_error(const std::function<DD(DD, DD)>& operation, MpfrOperation exact_operation, bool double_y,
                   bool same_operand = false) {
  Random random(1, 5);
  double worst = 0;
  MpfrReal a, b, exact;
  for (int i = 0; i < kPoints; ++i) {
    const DD x = random_dd(random, 60);
    DD y = same_operand ? x : partner(random, x);
    if (double_y) y.lo = 0;
    a.set(x.hi, x.lo);
    b.set(y.hi, y.lo);
    exact_operation(exact.get(), a.get(), b.get(), MPFR_RNDN);
    const DD result = operation(x, y);
    if (mpfr_zero_p(exact.get())) {
      EXPECT_EQ(result.hi, 0);
      continue;
    }
    worst = std::max(worst, exact.relative_error_of(result.hi, result.lo) * 0x1p106);
  }
  return worst;
}

void expect_at_most(const char* name, double worst, double bound) {
  std::printf("%-12s worst %.3f u^2, bound %.3f u^2\n", name, worst, bound * 0x1p106);
  EXPECT_LE(worst, bound * 0x1p106) << name;
}

TEST(DoubleDouble, EveryOperationStaysWithinItsBound) {
  const auto add = [](DD x, DD y) { return x + y; };
  const auto subtract = [](DD x, DD y) { return x - y; };
  const auto add_double = [](DD x, DD y) { return x + y.hi; };
  const auto multiply = [](DD x, DD y) { return x * y; };
  const auto multiply_double = [](DD x, DD y) { return x * y.hi; };
  const auto divide = [](DD x, DD y) { return x / y; };
  const auto squared = [](DD x, DD) { return square(x); };
  expect_at_most("DD + DD", worst_error(add, mpfr_add, false), kDdAddError);
  expect_at_most("DD - DD", worst_error(subtract, mpfr_sub, false), kDdAddError);
  expect_at_most("DD + double", worst_error(add_double, mpfr_add, true), kDdAddDoubleError);
  expect_at_most("DD * DD", worst_error(multiply, mpfr_mul, false), kDdMulError);
  expect_at_most("DD * double", worst_error(multiply_double, mpfr_mul, true), kDdMulDoubleError);
  expect_at_most("DD / DD", worst_error(divide, mpfr_div, false), kDdDivError);
  expect_at_most("square", worst_error(squared, mpfr_mul, false, true), kDdSquareError);
}

// The measurement sees a wrong algorithm: the sloppy sum has no bound when the high words cancel.
TEST(DoubleDouble, SloppyAdditionIsNoticed) {
  const auto sloppy = [](DD x, DD y) {
    const DD s = two_sum(x.hi, y.hi);
    return fast_two_sum(s.hi, s.lo + (x.lo + y.lo));
  };
  EXPECT_GT(worst_error(sloppy, mpfr_add, false), 100 * kDdAddError * 0x1p106);
}

TEST(DoubleDouble, SmallerSummandStaysWithinItsBound) {
  Random random(1, 6);
  double worst = 0;
  MpfrReal a, b, exact;
  for (int i = 0; i < kPoints; ++i) {
    const DD x = random_dd(random, 10);
    DD y = random_dd(random, 10);
    const int shift = std::ilogb(x.hi) - std::ilogb(y.hi) - 6 - static_cast<int>(random.integer(0, 4));
    y = {std::ldexp(y.hi, shift), std::ldexp(y.lo, shift)};
    a.set(x.hi, x.lo);
    b.set(y.hi, y.lo);
    mpfr_add(exact.get(), a.get(), b.get(), MPFR_RNDN);
    const DD sum = add_smaller(x, y);
    worst = std::max(worst, exact.relative_error_of(sum.hi, sum.lo) * 0x1p106);
  }
  expect_at_most("add_smaller", worst, kDdAddError);
}

TEST(DoubleDouble, ErrorFreeTransformsAreExact) {
  Random random(1, 7);
  for (int i = 0; i < kPoints; ++i) {
    const double a_significand = random.uniform(-1, 1);
    const double a = std::ldexp(a_significand, random_exponent(random, 60));
    const double b_significand = random.uniform(-1, 1);
    const double b = std::ldexp(b_significand, random_exponent(random, 60));
    MpfrReal exact, rebuilt;
    const DD sum = two_sum(a, b);
    exact.set(a, b);
    rebuilt.set(sum.hi, sum.lo);
    ASSERT_TRUE(mpfr_equal_p(exact.get(), rebuilt.get())) << a << " + " << b;
    const DD product = two_product(a, b);
    mpfr_set_d(exact.get(), a, MPFR_RNDN);
    mpfr_mul_d(exact.get(), exact.get(), b, MPFR_RNDN);
    rebuilt.set(product.hi, product.lo);
    ASSERT_TRUE(mpfr_equal_p(exact.get(), rebuilt.get())) << a << " * " << b;
  }
}

}  // namespace
}  // namespace flashproof
