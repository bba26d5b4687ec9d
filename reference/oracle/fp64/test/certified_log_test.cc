#include "reference/oracle/fp64/vector/certified_log.h"

#include <gtest/gtest.h>

#include <vector>

#include "reference/oracle/proofs/mpfr_real.h"
#include "reference/problem/random.h"

namespace flashproof {
namespace {

/// Is log(sum·(1 + theta)) in the ball?
bool contains(const LogBall& ball, double sum, double theta) {
  MpfrReal exact, factor;
  factor.set(1, theta);
  mpfr_mul_d(exact.get(), factor.get(), sum, MPFR_RNDN);
  mpfr_log(exact.get(), exact.get(), MPFR_RNDN);
  mpfr_sub_d(exact.get(), exact.get(), ball.value, MPFR_RNDN);
  mpfr_abs(exact.get(), exact.get(), MPFR_RNDN);
  return mpfr_cmp_d(exact.get(), ball.radius) <= 0;
}

std::vector<double> log_uniform_sums(int count) {
  Random random(1, 3);
  std::vector<double> sums = {1, 0x1p-1000, 0x1p1000, std::nextafter(1.0, 2), std::nextafter(1.0, 0)};
  for (int i = 0; i < count; ++i) {
    const int range = i % 2 == 0 ? 999 : 3;
    const int exponent = static_cast<int>(random.integer(-range, range));
    sums.push_back(std::ldexp(random.uniform(1, 2), exponent));
  }
  return sums;
}

int violations(const LogTerms& terms, double relative_radius) {
  int count = 0;
  for (const double sum : log_uniform_sums(25'000)) {
    const LogBall ball = certified_log(sum, relative_radius, terms);
    if (!contains(ball, sum, relative_radius) || !contains(ball, sum, -relative_radius)) ++count;
  }
  return count;
}

TEST(CertifiedLog, ContainsTheLogOfEverySumTheArgumentsAllow) {
  for (const double relative_radius : {0.0, 0x1p-52, 0x1p-40, 0x1p-10, 0.5, 0.999}) {
    EXPECT_EQ(violations({}, relative_radius), 0) << relative_radius;
  }
}

TEST(CertifiedLog, EachTermIsNeeded) {
  EXPECT_GT(violations({.exp = 0}, 0), 0);       // the errors of exp and of log cancel in the residual
  EXPECT_GT(violations({.residual = 0}, 0), 0);  // a large y carries its own rounding
  EXPECT_GT(violations({.sum = 0}, 0x1p-40), 0);
}

TEST(CertifiedLog, RadiusIsAFewRoundings) {
  for (const double sum : log_uniform_sums(10'000)) {
    const LogBall ball = certified_log(sum, 0);
    EXPECT_LE(ball.radius, 6 * 0x1p-53 + 0x1p-52 * std::fabs(ball.value))
        << sum;  // exp twice, log within two roundings
  }
}

TEST(CertifiedLog, WrongLogarithmIsInsideTheRadiusOrNotCertified) {
  Random random(1, 4);
  for (const double sum : log_uniform_sums(10'000)) {
    const double off = random.uniform(-0x1p-21, 0x1p-21);
    const LogBall ball = certify_log(std::log(sum) + off, sum, 0);
    EXPECT_LT(ball.radius, 0x1p-20);
    EXPECT_TRUE(contains(ball, sum, 0)) << sum << " " << off;
    EXPECT_EQ(certify_log(std::log(sum) + 0x1p-19, sum, 0).radius, INFINITY);
  }
}

TEST(CertifiedLog, WhatItCannotCertifyHasAnInfiniteRadius) {
  for (const double sum : {0.0, -1.0, 0x1p-1001, 0x1p1001, 1e-310, HUGE_VAL, std::nan("")}) {
    EXPECT_EQ(certified_log(sum, 0).radius, INFINITY) << sum;
  }
  for (const double relative_radius : {1.0, 2.0, -0x1p-60, HUGE_VAL, std::nan("")}) {
    EXPECT_EQ(certified_log(3, relative_radius).radius, INFINITY) << relative_radius;
  }
}

}  // namespace
}  // namespace flashproof
