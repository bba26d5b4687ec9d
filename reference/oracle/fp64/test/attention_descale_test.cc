// The terms of descale factors: an input for each where the radius without the term does not contain the exact result.
#include <gtest/gtest.h>

#include "reference/oracle/descale.h"
#include "reference/oracle/fp64/test/attention_check.h"

namespace flashproof::attention64::check {
namespace {

using test::filled;

/// Keys 0 and k with values 0 and 1; q = 1, factors of 24 bits, so that the product has a rest.
AttentionProblem two_keys(float scale, double k) {
  AttentionProblem p = test::attention(
      Format::f32, {.sq = 1, .sk = 2, .d = 1, .dv = 1}, [] { return 1.0; }, [] { return 0.0; }, [] { return 0.0; });
  p.scale = scale;
  p.k.set({0, 0, 1, 0}, k);
  p.v.set({0, 0, 1, 0}, 1.0);
  return p;
}

Tensor one_factor(double x) {
  return filled(Format::f32, {1, 1}, [x] { return x; });
}

TEST(AttentionDescale, TheRestOfTheFactorIsNeeded) {
  AttentionProblem p = two_keys(0x1.a1b2c4p+1F, -16.0);
  p.q_descale = one_factor(0x1.93a5d6p+0);
  p.k_descale = one_factor(0x1.5be07ap-1);
  const ScoreFactor factor = score_factor(p, 0, 0);
  ASSERT_GT(std::fabs(factor.lo), 0x1p-55 * std::fabs(factor.hi));
  EXPECT_EQ(check_tier0(p).violations, 0);
  AttentionOptions without;
  without.terms.factor = 0;
  EXPECT_GT(check_tier0(p, without).violations, 0);
}

TEST(AttentionDescale, AFactorOfOneNumberCostsNothing) {
  AttentionProblem p = two_keys(0.5F, -16.0);
  const Tier0 plain = run_tier0(p);
  p.q_descale = one_factor(0.25);
  p.k_descale = one_factor(4.0);
  p.v_descale = one_factor(1.0);
  const Tier0 descaled = run_tier0(p);
  EXPECT_EQ(descaled.truth.o[0].hi, plain.truth.o[0].hi);
  EXPECT_EQ(descaled.truth.o[0].radius, plain.truth.o[0].radius);
  EXPECT_EQ(descaled.truth.lse[0].radius, plain.truth.lse[0].radius);
}

// Two keys that tie: o = (1 + 2^-40)/2 exactly, and its product with v_descale has 64 bits.
TEST(AttentionDescale, TheRoundingOfTheProductIsNeeded) {
  AttentionProblem p = two_keys(1.0F, 0.0);
  p.v.set({0, 0, 0, 0}, 0x1p-40);
  p.v_descale = one_factor(0x1.fffffep+0);
  AttentionOptions alone;
  alone.terms.sum = alone.terms.values = 0;
  EXPECT_EQ(check_tier0(p, alone).violations, 0);
  alone.terms.descale = 0;
  EXPECT_EQ(check_tier0(p, alone).violations, 1);
}

TEST(AttentionDescale, BallsTimesAFactor) {
  const Ball ball{.hi = 1.0, .lo = 0x1p-60, .radius = 0x1p-100};
  const double factor = 0x1.fffffep+100;
  const Ball times = descaled(ball, factor);
  EXPECT_EQ(times.hi, factor);
  EXPECT_EQ(times.lo, 0x1p-60 * factor);
  EXPECT_GE(times.radius, ball.radius * factor);
  EXPECT_LE(times.radius, 0x1.001p-100 * factor);
  EXPECT_EQ(descaled({.hi = 3.0}, factor).radius, 0.0) << "48 bits, nothing rounds";
  EXPECT_EQ(descaled({.radius = HUGE_VAL}, 0.0).radius, 0.0);
  EXPECT_EQ(descaled({.radius = HUGE_VAL}, -1.0).radius, HUGE_VAL);
  EXPECT_EQ(descaled({}, factor).radius, 0.0);
  const Ball tiny = descaled({.hi = 0x1.fffffffffffffp-950}, 0x1.fffffep-149);
  EXPECT_GT(tiny.radius, 0.0);
  EXPECT_EQ(descaled_classes(kPosInf | kNaN, -0.5), kNegInf | kNaN);
  EXPECT_EQ(descaled_classes(kPosInf | kNaN, 0.0), kNaN);
  EXPECT_EQ(descaled_classes(kFinite, 0.0), kFinite);
}

}  // namespace
}  // namespace flashproof::attention64::check
