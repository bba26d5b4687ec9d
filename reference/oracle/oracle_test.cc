// Cases whose answer is known in closed form, and the promises of compute_truth about precision.
#include "reference/oracle/oracle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/oracle/row_truth.h"
#include "reference/oracle/test_problems.h"
#include "reference/problem/error.h"

namespace flashproof {
namespace {

using test::attention;
using test::merge;
using test::softmax;

constexpr Format kF32 = Format::f32;
// ln 2 as two doubles (the rest is below 2^-108).
constexpr double kLn2 = 0x1.62e42fefa39efp-1;
constexpr double kLn2Rest = 0x1.abc9e3b39803fp-56;

void expect_exactly(const Ball& ball, double value) {
  EXPECT_EQ(ball.classes, kFinite);
  EXPECT_EQ(ball.hi, value);
  EXPECT_EQ(ball.lo, 0.0);
  EXPECT_EQ(ball.radius, 0.0);
  EXPECT_TRUE(ball.decided);
}

/// hi + lo is within the ball and the ball is far below a double.
void expect_ball(const Ball& ball, double hi, double lo) {
  EXPECT_EQ(ball.classes, kFinite);
  EXPECT_EQ(ball.hi, hi);
  EXPECT_NEAR(ball.lo, lo, ball.radius + 0x1p-107 * std::fabs(hi));
  EXPECT_LE(ball.radius, 0x1p-100 * std::fabs(hi));
}

TEST(OracleSoftmax, EqualScoresShareEqually) {
  const Truth truth = compute_truth(softmax(kF32, 1, 2, [] { return 0.0; }));
  ASSERT_EQ(truth.rows, 1);
  ASSERT_EQ(truth.width, 2);
  expect_exactly(truth.o[0], 0.5);
  expect_exactly(truth.o[1], 0.5);
  expect_ball(truth.lse[0], kLn2, kLn2Rest);
  EXPECT_EQ(truth.max_bits, 128);
}

TEST(OracleSoftmax, ShiftBeyondTheRangeOfExp) {
  const Truth truth = compute_truth(softmax(kF32, 1, 4, [] { return 1000.0; }));
  for (const Ball& ball : truth.o) expect_exactly(ball, 0.25);
  EXPECT_EQ(truth.lse[0].hi, 1000.0 + 2.0 * kLn2);
}

TEST(OracleSoftmax, OneKeyIsOne) {
  const Truth truth = compute_truth(softmax(kF32, 1, 1, [] { return -3.25e38; }));
  expect_exactly(truth.o[0], 1.0);
  expect_exactly(truth.lse[0], decode(kF32, encode(kF32, -3.25e38)));
}

TEST(OracleSoftmax, LogisticFunction) {
  SoftmaxProblem problem = softmax(kF32, 1, 2, [] { return 0.0; });
  problem.x.set({0, 1}, -1.0);
  const Truth truth = compute_truth(problem);
  EXPECT_EQ(truth.o[1].hi, 0.26894142136999512);   // 1/(1+e) = 0.268941421369995120748840758...
  EXPECT_EQ(truth.o[0].hi, 0.73105857863000488);   // 0.731058578630004879251159241...
  EXPECT_EQ(truth.lse[0].hi, 0.3132616875182228);  // ln(1 + 1/e) = 0.313261687518222834048995...
}

TEST(OracleSoftmax, LengthsAndMasks) {
  SoftmaxProblem problem = softmax(kF32, 3, 3, [] { return 7.0; });
  problem.row_length = {0, 2, 3};
  problem.x.set({2, 1}, -std::numeric_limits<double>::infinity());
  problem.x.set_bits(problem.x.offset({1, 2}), nan_bits(kF32));  // beyond the length: belongs to no key
  const Truth truth = compute_truth(problem);
  for (int c = 0; c < 3; ++c) expect_exactly(truth.o[c], 0.0);
  EXPECT_EQ(truth.lse[0].classes, kNegInf);
  expect_exactly(truth.o[3], 0.5);
  expect_exactly(truth.o[5], 0.0);
  expect_exactly(truth.o[6], 0.5);
  expect_exactly(truth.o[7], 0.0);
  expect_exactly(truth.o[8], 0.5);
}

TEST(OracleSoftmax, AWeightBelowEveryDoubleStaysCovered) {
  SoftmaxProblem problem = softmax(kF32, 1, 2, [] { return 0.0; });
  problem.x.set({0, 1}, -1e6);
  const Truth truth = compute_truth(problem);
  EXPECT_EQ(truth.o[1].hi, 0.0);
  EXPECT_EQ(truth.o[1].radius, 0x1p-1074);  // e^-1e6 is not 0
  EXPECT_GT(truth.o[0].radius, 0.0);        // 1 − e^-1e6 is not 1
  EXPECT_TRUE(truth.o[0].decided && truth.o[1].decided);
}

TEST(OracleMerge, EqualStatesAverageAndWeightsFollowTheLse) {
  MergeProblem problem = merge(kF32, 2, 1, 2, [] { return 1.0; }, [] { return 5.0; }, MergeForm::sum);
  problem.o.set({1, 0, 0}, 2.0);
  problem.o.set({1, 0, 1}, -1.0);
  Truth truth = compute_truth(problem);
  expect_exactly(truth.o[0], 1.5);
  expect_exactly(truth.o[1], 0.0);
  EXPECT_EQ(truth.lse[0].hi, 5.0 + kLn2);
  problem.form = MergeForm::concat;
  truth = compute_truth(problem);
  ASSERT_EQ(truth.width, 4);
  const double expected[] = {0.5, 0.5, 1.0, -0.5};
  for (int c = 0; c < 4; ++c) expect_exactly(truth.o[c], expected[c]);
}

TEST(OracleAttention, ZeroQueriesAverageTheVisibleValues) {
  double next = 0.0;
  AttentionProblem problem = attention(
      kF32, {.sq = 4, .sk = 4, .d = 2, .dv = 1}, [] { return 0.0; }, [] { return 1.0; },
      [&next] { return next += 1.0; });
  problem.causal = true;
  const Truth truth = compute_truth(problem);
  expect_exactly(truth.o[0], 1.0);
  expect_exactly(truth.o[1], 1.5);
  EXPECT_EQ(truth.o[2].hi, 2.0);
  expect_exactly(truth.o[3], 2.5);
  expect_exactly(truth.lse[0], 0.0);
  expect_ball(truth.lse[1], kLn2, kLn2Rest);
}

TEST(OracleAttention, CausalIsBottomRightAligned) {
  double next = 0.0;
  AttentionProblem problem = attention(
      kF32, {.sq = 3, .sk = 2, .d = 1, .dv = 1}, [] { return 0.0; }, [] { return 0.0; },
      [&next] { return next += 1.0; });
  problem.causal = true;  // query 0 sees j <= 0 + 2 − 3: nothing
  const Truth truth = compute_truth(problem);
  expect_exactly(truth.o[0], 0.0);
  EXPECT_EQ(truth.lse[0].classes, kNegInf);
  expect_exactly(truth.o[1], 1.0);
  expect_exactly(truth.o[2], 1.5);
}

TEST(OracleAttention, ScaleBiasAndHeads) {
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
  problem.bias.set({0, 1, 0, 0}, -std::numeric_limits<double>::infinity());
  problem.bias.set({0, 1, 0, 1}, 10.0);
  const Truth truth = compute_truth(problem);
  expect_exactly(truth.o[0], 2.0);
  EXPECT_EQ(truth.lse[0].hi, 6.0 + kLn2);
  expect_exactly(truth.o[1], 3.0);
  expect_exactly(truth.lse[1], 16.0);
}

TEST(OracleAttention, DotsBeyondF32AndTiesAreExact) {
  AttentionProblem problem = attention(
      kF32, {.sq = 1, .sk = 2, .d = 2, .dv = 1}, [] { return 1e38; }, [] { return 1e38; }, [] { return 1.0; });
  problem.v.set({0, 0, 1, 0}, -1.0);
  problem.scale = 1.0F;
  const Truth truth = compute_truth(problem);
  expect_exactly(truth.o[0], 0.0);
  EXPECT_EQ(truth.lse[0].hi, 2.0 * decode(kF32, encode(kF32, 1e38)) * decode(kF32, encode(kF32, 1e38)));
}

TEST(OraclePrecision, CancellingValuesEscalate) {
  // Two pairs of equal keys, the second pair's weight irrational, values ±1: o is exactly 0, which 128 bits cannot say.
  AttentionProblem problem =
      attention(kF32, {.sq = 1, .sk = 4, .d = 1, .dv = 1}, [] { return 1.0; }, [] { return 0.0; }, [] { return 1.0; });
  for (const std::int64_t j : {2, 3}) problem.k.set({0, 0, j, 0}, -1.0);
  for (const std::int64_t j : {1, 3}) problem.v.set({0, 0, j, 0}, -1.0);
  const Truth truth = compute_truth(problem);
  EXPECT_EQ(truth.max_bits, 256);
  EXPECT_EQ(truth.o[0].hi, 0.0);
  EXPECT_LE(truth.o[0].radius, 0x1p-161);
  EXPECT_GT(truth.o[0].radius, 0.0);
  EXPECT_TRUE(truth.o[0].decided);
}

TEST(OraclePrecision, AtTheLimitTheRadiusIsStillABound) {
  const std::vector<ExactScore> score = {exact_score(0), exact_score(0), exact_score(-1), exact_score(-1)};
  const std::vector<std::int64_t> key = {0, 1, 2, 3};
  const ValueMatrix values(std::vector<double>{1.0, -1.0, 1.0, -1.0}, 1);
  const Row row{.score = score, .key = key, .values = &values, .form = RowForm::sum};
  const RowTruth coarse = row_truth(row, {.first = 64, .last = 100});
  EXPECT_EQ(coarse.bits, 100);
  EXPECT_FALSE(coarse.o[0].decided);
  EXPECT_LE(std::fabs(coarse.o[0].hi + coarse.o[0].lo), coarse.o[0].radius);  // 0 is inside
  EXPECT_GT(coarse.o[0].radius, 0x1p-161);
  EXPECT_TRUE(coarse.lse.decided);
}

TEST(OracleInput, RefusesWhatItIsNotProvedFor) {
  SoftmaxProblem problem = softmax(Format::f64, 1, 3, [] { return 1.0; });
  try {
    compute_truth(problem);
    FAIL() << "f64 was accepted";
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()).rfind('x', 0), 0U) << error.what();
    EXPECT_NE(std::string(error.what()).find("f64"), std::string::npos) << error.what();
  }
  EXPECT_THROW(compute_truth(softmax(Format::e5m2, 1, 3, [] { return 1.0; })), UsageError);
}

TEST(OracleInput, EmptyShapes) {
  EXPECT_EQ(compute_truth(softmax(kF32, 0, 3, [] { return 1.0; })).o.size(), 0U);
  const Truth no_keys = compute_truth(softmax(kF32, 2, 0, [] { return 1.0; }));
  ASSERT_EQ(no_keys.lse.size(), 2U);
  EXPECT_EQ(no_keys.lse[0].classes, kNegInf);
  EXPECT_EQ(no_keys.max_bits, 0);
}

}  // namespace
}  // namespace flashproof
