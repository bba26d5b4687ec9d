#include "reference/oracle/fp64/vector/proven_exp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "reference/oracle/proofs/exp_points.h"
#include "reference/oracle/proofs/mpfr_real.h"

namespace flashproof {
namespace {

struct Worst {
  double error = 0, x = 0;  // error in units of 2^-53
};

Worst worst_error(const std::vector<double>& points) {
  Worst worst;
  MpfrReal exact;
  for (const double x : points) {
    mpfr_set_d(exact.get(), x, MPFR_RNDN);
    mpfr_exp(exact.get(), exact.get(), MPFR_RNDN);
    const double error = exact.relative_error_of(proven_exp(x)) * 0x1p53;
    if (!(error <= worst.error)) worst = {error, x};
  }
  return worst;
}

void expect_within_proof(const char* what, const std::vector<double>& points) {
  const Worst worst = worst_error(points);
  std::printf("%s: %zu points, worst %.4f u at %a\n", what, points.size(), worst.error, worst.x);
  EXPECT_LE(worst.error, kExpProvenError * 0x1p53);
}

TEST(ProvenExp, RandomPointsStayWithinTheProvenBound) {
  expect_within_proof("random", exp_random_points(1'000'000, 1));
}

TEST(ProvenExp, BoundaryPointsStayWithinTheProvenBound) { expect_within_proof("boundary", exp_boundary_points()); }

// The worst points come close to the bound, so a bound that is a tenth too small would be seen here.
TEST(ProvenExp, WorstPointsStayWithinTheProvenBoundAndComeNearIt) {
  const std::vector<double> points = exp_worst_points(1'000'000, 1);
  expect_within_proof("adversarial", points);
  EXPECT_GE(worst_error({points.begin(), points.begin() + 200'000}).error, 0.9 * kExpProvenError * 0x1p53);
}

TEST(ProvenExp, IsOneAtZeroAndOnTheRightSideOfOneElsewhere) {
  EXPECT_EQ(proven_exp(0.0), 1.0);
  EXPECT_EQ(proven_exp(-0.0), 1.0);
  std::vector<double> points = exp_boundary_points();
  const std::vector<double> more = exp_random_points(1'000'000, 2);
  points.insert(points.end(), more.begin(), more.end());
  const auto wrong_side = [](double x) { return x <= 0 ? proven_exp(x) > 1 : proven_exp(x) < 1; };
  EXPECT_EQ(std::count_if(points.begin(), points.end(), wrong_side), 0);
}

TEST(ProvenExp, NonFiniteArgumentsGiveNaN) {
  EXPECT_TRUE(std::isnan(proven_exp(NAN)));
  EXPECT_TRUE(std::isnan(proven_exp(INFINITY)));
  EXPECT_TRUE(std::isnan(proven_exp(-INFINITY)));
}

}  // namespace
}  // namespace flashproof
