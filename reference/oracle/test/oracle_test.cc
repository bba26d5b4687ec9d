// Cases whose answer is known in closed form, to 2^-12 ulp of f32 (mostly the fp64 tier) and of f64 (the tiers above).
#include "reference/oracle/oracle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "reference/oracle/test/test_problems.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

using test::attention;
using test::merge;
using test::softmax;

constexpr Format kF32 = Format::f32;

/// hi + lo up to 2^-104 of it.
struct Exact {
  double hi = 0, lo = 0;
  Exact(double h, double l = 0) : hi(h), lo(l) {}  // NOLINT(google-explicit-constructor): numbers in lists
};
// ln 2 as two doubles (the rest is below 2^-108).
const Exact kLn2{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

class Oracles : public testing::TestWithParam<Format> {
 protected:
  Truth truth_of(const Problem& problem) const {
    Truth truth = narrow_truth(problem, GetParam());
    EXPECT_EQ(truth.inconclusive, 0);
    EXPECT_EQ(truth.o.size(), static_cast<std::size_t>(truth.rows * truth.width));
    EXPECT_EQ(truth.lse.size(), static_cast<std::size_t>(truth.rows));
    EXPECT_EQ(truth.tier.size(), static_cast<std::size_t>(truth.rows));
    return truth;
  }
  void expect_ball(const Ball& ball, Exact exact) const {
    if (exact.hi == -kInfinity) {
      EXPECT_EQ(ball.classes, kNegInf);
      return;
    }
    EXPECT_EQ(ball.classes, kFinite);
    const double distance = std::fabs((ball.hi - exact.hi) + (ball.lo - exact.lo));  // close numbers: exact differences
    EXPECT_LE(distance, ball.radius + 0x1p-104 * std::fabs(exact.hi)) << ball.hi << " against " << exact.hi;
    EXPECT_TRUE(narrow_enough(ball, GetParam())) << ball.hi << " ± " << ball.radius;
  }
  void expect(const Problem& problem, const std::vector<Exact>& o, const std::vector<Exact>& lse) const {
    const Truth truth = truth_of(problem);
    ASSERT_EQ(truth.o.size(), o.size());
    ASSERT_EQ(truth.lse.size(), lse.size());
    for (std::size_t i = 0; i < o.size(); ++i) expect_ball(truth.o[i], o[i]);
    for (std::size_t i = 0; i < lse.size(); ++i) expect_ball(truth.lse[i], lse[i]);
  }
};
INSTANTIATE_TEST_SUITE_P(To, Oracles, testing::Values(Format::f32, Format::f64),
                         [](const auto& test) { return std::string(flashproof::info(test.param).name); });

TEST_P(Oracles, EqualScoresShareEqually) {
  expect(softmax(kF32, 1, 2, [] { return 0.0; }), {0.5, 0.5}, {kLn2});
}

TEST_P(Oracles, ShiftBeyondTheRangeOfExp) {
  // 1000 + 2 ln 2: hi is 1000 and a rounded 1.386..., lo the rest.
  const double two_ln2 = 2 * kLn2.hi, sum = 1000 + two_ln2;
  expect(softmax(kF32, 1, 4, [] { return 1000.0; }), {0.25, 0.25, 0.25, 0.25},
         {{sum, two_ln2 - (sum - 1000) + 2 * kLn2.lo}});
}

TEST_P(Oracles, OneKeyIsOne) {
  expect(softmax(kF32, 1, 1, [] { return -3.25e38; }), {1.0}, {decode(kF32, encode(kF32, -3.25e38))});
}

TEST_P(Oracles, LogisticFunction) {
  SoftmaxProblem problem = softmax(kF32, 1, 2, [] { return 0.0; });
  problem.x.set({0, 1}, -1.0);
  const Truth truth = truth_of(problem);
  const double exact[] = {0.73105857863000488, 0.26894142136999512};  // e/(1+e), 1/(1+e), rounded to double
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(truth.o[i].hi, exact[i], truth.o[i].radius + 0x1p-53);
  EXPECT_NEAR(truth.lse[0].hi, 0.3132616875182228, truth.lse[0].radius + 0x1p-54);  // ln(1 + 1/e)
}

TEST_P(Oracles, LengthsAndMasks) {
  SoftmaxProblem problem = softmax(kF32, 3, 3, [] { return 7.0; });
  problem.row_length = {0, 2, 3};
  problem.x.set({2, 1}, -kInfinity);
  problem.x.set_bits(problem.x.offset({1, 2}), nan_bits(kF32));  // beyond the length: belongs to no key
  const double lse = 7 + kLn2.hi;
  const Exact two_sevens{lse, kLn2.hi - (lse - 7) + kLn2.lo};
  expect(problem, {0.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.5, 0.0, 0.5}, {-kInfinity, two_sevens, two_sevens});
  const Truth truth = truth_of(problem);
  for (const std::size_t hidden : {0, 1, 2, 5, 7}) EXPECT_EQ(truth.o[hidden].radius, 0.0) << hidden;
  EXPECT_EQ(truth.tier[0], Tier::symbolic);
  EXPECT_NE(truth.tier[1], Tier::symbolic);
}

TEST_P(Oracles, EqualStatesAverageAndWeightsFollowTheLse) {
  MergeProblem problem = merge(kF32, 2, 1, 2, [] { return 1.0; }, [] { return 5.0; }, MergeForm::sum);
  problem.o.set({1, 0, 0}, 2.0);
  problem.o.set({1, 0, 1}, -1.0);
  const double lse = 5 + kLn2.hi;
  const Exact five_and_ln2{lse, kLn2.hi - (lse - 5) + kLn2.lo};
  expect(problem, {1.5, 0.0}, {five_and_ln2});
  problem.form = MergeForm::concat;
  expect(problem, {0.5, 0.5, 1.0, -0.5}, {five_and_ln2});
}

TEST_P(Oracles, ZeroQueriesAverageTheVisibleValues) {
  double next = 0.0;
  AttentionProblem problem = attention(
      kF32, {.sq = 4, .sk = 4, .d = 2, .dv = 1}, [] { return 0.0; }, [] { return 1.0; },
      [&next] { return next += 1.0; });
  problem.causal = true;
  const double ln3 = 0x1.193ea7aad030bp+0, ln3_rest = -0x1.a256f99caabebp-54;
  expect(problem, {1.0, 1.5, 2.0, 2.5}, {0.0, kLn2, {ln3, ln3_rest}, {2 * kLn2.hi, 2 * kLn2.lo}});
}

TEST_P(Oracles, CausalIsBottomRightAligned) {
  double next = 0.0;
  AttentionProblem problem = attention(
      kF32, {.sq = 3, .sk = 2, .d = 1, .dv = 1}, [] { return 0.0; }, [] { return 0.0; },
      [&next] { return next += 1.0; });
  problem.causal = true;  // query 0 sees j <= 0 + 2 − 3: nothing
  expect(problem, {0.0, 1.0, 1.5}, {-kInfinity, 0.0, kLn2});
}

TEST_P(Oracles, ScaleBiasAndHeads) {
  // Two query heads share one kv head; one-element vectors: s = 0.5·q·k + bias.
  AttentionProblem problem = attention(
      kF32, {.q_heads = 2, .sq = 1, .sk = 2, .d = 1, .dv = 1}, [] { return 4.0; }, [] { return 3.0; },
      [] { return 1.0; });
  problem.scale = 0.5F;
  problem.v.set({0, 0, 1, 0}, 3.0);
  problem.bias = Tensor::dense(kF32, {1, 2, 1, 2});
  for (const std::int64_t h : {0, 1}) {
    for (const std::int64_t j : {0, 1}) problem.bias.set({0, h, 0, j}, 0.0);
  }
  problem.bias.set({0, 1, 0, 0}, -kInfinity);
  problem.bias.set({0, 1, 0, 1}, 10.0);
  const double lse = 6 + kLn2.hi;
  expect(problem, {2.0, 3.0}, {{lse, kLn2.hi - (lse - 6) + kLn2.lo}, 16.0});
}

TEST_P(Oracles, DotsBeyondF32AndTiesAreExact) {
  AttentionProblem problem = attention(
      kF32, {.sq = 1, .sk = 2, .d = 2, .dv = 1}, [] { return 1e38; }, [] { return 1e38; }, [] { return 1.0; });
  problem.v.set({0, 0, 1, 0}, -1.0);
  problem.scale = 1.0F;
  const double x = decode(kF32, encode(kF32, 1e38));
  expect(problem, {0.0}, {2.0 * x * x});  // ln 2 is below 2^-150 of it
}

TEST_P(Oracles, EmptyShapes) {
  EXPECT_EQ(truth_of(softmax(kF32, 0, 3, [] { return 1.0; })).o.size(), 0U);
  const Truth no_keys = truth_of(softmax(kF32, 2, 0, [] { return 1.0; }));
  ASSERT_EQ(no_keys.lse.size(), 2U);
  EXPECT_EQ(no_keys.lse[0].classes, kNegInf);
  EXPECT_EQ(no_keys.max_bits, 0);
}

// At 0 only f32's smallest spacing is one that the radius, a double, can undercut.

TEST(OracleAtZero, AWeightBelowEveryDoubleStaysCovered) {
  SoftmaxProblem problem = softmax(kF32, 1, 2, [] { return 0.0; });
  problem.x.set({0, 1}, -1e6);
  const Truth truth = compute_truth(problem);
  EXPECT_GT(truth.o[1].hi + truth.o[1].radius, 0.0);  // e^-1e6 is not 0
  EXPECT_LE(truth.o[1].hi - truth.o[1].radius, 0.0);
  EXPECT_GE(truth.o[0].radius, 0x1p-1074);  // 1 − e^-1e6 is not 1
  EXPECT_EQ(truth.inconclusive, 0);
}

TEST(OracleAtZero, CancellingValuesClimb) {
  // Two pairs of equal keys, the second pair's weight irrational, values ±1: o is exactly 0, which 128 bits cannot say.
  AttentionProblem problem =
      attention(kF32, {.sq = 1, .sk = 4, .d = 1, .dv = 1}, [] { return 1.0; }, [] { return 0.0; }, [] { return 1.0; });
  for (const std::int64_t j : {2, 3}) problem.k.set({0, 0, j, 0}, -1.0);
  for (const std::int64_t j : {1, 3}) problem.v.set({0, 0, j, 0}, -1.0);
  const Truth truth = compute_truth(problem);
  EXPECT_EQ(truth.tier[0], Tier::exact);
  EXPECT_EQ(truth.max_bits, 256);
  EXPECT_EQ(truth.inconclusive, 0);
  EXPECT_LE(std::fabs(truth.o[0].hi + truth.o[0].lo), truth.o[0].radius);  // 0 is inside
  EXPECT_LE(truth.o[0].radius, 0x1p-161);
}

TEST(CheckOfTheTests, AWrongClosedFormWouldBeNoticed) {
  // The comparison of expect_ball() at its tightest: one unit of the 100th bit is more than the balls of dd leave.
  const Truth truth = narrow_truth(softmax(kF32, 1, 2, [] { return 0.0; }), Format::f64);
  const Ball lse = truth.lse[0];
  EXPECT_GT(std::fabs((lse.hi - kLn2.hi) + (lse.lo - kLn2.lo) + 0x1p-64), lse.radius);
}

}  // namespace
}  // namespace flashproof
