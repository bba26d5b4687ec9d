#include "reference/oracle/double_double/dd_exp.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "reference/oracle/proofs/exp_points.h"
#include "reference/oracle/proofs/mpfr_real.h"

namespace flashproof {
namespace {

/// |exp_dd(x) - e^x|/e^x, less what underflow of the low word may add.
double relative_error(DD x) {
  MpfrReal exact;
  exact.set(x.hi, x.lo);
  mpfr_exp(exact.get(), exact.get(), MPFR_RNDN);
  const DD result = exp_dd(x);
  return exact.relative_error_of(result.hi, result.lo) - kDdExpUnderflow / result.hi;
}

double worst_error(const char* what, const std::vector<double>& points) {
  Random random(1, 8);
  double worst = 0, at = 0;
  for (const double hi : points) {
    const double lo = hi * random.uniform(-0x1p-53, 0x1p-53);
    const double error = relative_error(fast_two_sum(hi, lo));
    if (!(error <= worst)) {
      worst = error;
      at = hi;
    }
  }
  std::printf("%s: %zu points, worst 2^%.2f at %a\n", what, points.size(), std::log2(worst), at);
  return worst;
}

TEST(DdExp, StaysWithinTheProvenBound) {
  EXPECT_LE(worst_error("random", exp_random_points(200'000, 3)), kDdExpProvenError);
  EXPECT_LE(worst_error("boundary", exp_boundary_points()), kDdExpProvenError);
  EXPECT_LE(worst_error("large |r|", exp_worst_points(50'000, 3)), kDdExpProvenError);
}

// A reduced argument far below the high word's ulp: x is k·ln 2 to 106 bits, and nothing of x.hi remains.
TEST(DdExp, MultiplesOfLn2) {
  for (int k = -1019; k <= 1022; ++k) {
    const DD x = DD{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56} * static_cast<double>(k);
    EXPECT_LE(relative_error(x), kDdExpProvenError) << k;
  }
}

TEST(DdExp, UnderflowIsTheLowWordsOnly) {
  const double lost = relative_error({-705.3, 0}) + kDdExpUnderflow / exp_dd({-705.3, 0}).hi;
  EXPECT_GT(lost, kDdExpError) << "no underflow here: the constant would be superfluous";
  Random random(1, 9);
  for (int i = 0; i < 10'000; ++i) EXPECT_LE(relative_error({random.uniform(-707, -660), 0}), kDdExpProvenError);
}

TEST(DdExp, TheLowWordOfTheArgumentCounts) {
  const DD with = exp_dd({1, 0x1p-54}), without = exp_dd({1, 0});
  EXPECT_NE(with.lo, without.lo);
  EXPECT_LE(relative_error({1, 0x1p-54}), kDdExpProvenError);
  EXPECT_EQ(exp_dd({0, 0}).hi, 1);
  EXPECT_EQ(exp_dd({0, 0}).lo, 0);
  EXPECT_TRUE(std::isnan(exp_dd({NAN, 0}).hi));
}

}  // namespace
}  // namespace flashproof
