// Every row of the special-value table (design: semantics.md) that a forward problem can reach.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/oracle/oracle.h"
#include "reference/oracle/test_problems.h"

namespace flashproof {
namespace {

using test::attention;
using test::merge;
using test::softmax;

constexpr Format kF32 = Format::f32;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kZeroOrNan = kFinite | kNaN;

void expect_zero(const Ball& ball) {
  EXPECT_EQ(ball.classes, kFinite);
  EXPECT_EQ(ball.hi, 0.0);
  EXPECT_EQ(ball.lo, 0.0);
  EXPECT_EQ(ball.radius, 0.0);
}

/// One row, three keys with equal scores, two value columns; v_jc = 1.
AttentionProblem plain() {
  AttentionProblem p =
      attention(kF32, {.sq = 1, .sk = 3, .d = 2, .dv = 2}, [] { return 1.0; }, [] { return 1.0; }, [] { return 1.0; });
  p.scale = 1.0F;
  return p;
}

AttentionProblem plain_with_bias(double bias0, double bias1, double bias2) {
  AttentionProblem p = plain();
  p.bias = Tensor::dense(kF32, {1, 1, 1, 3});
  p.bias.set({0, 0, 0, 0}, bias0);
  p.bias.set({0, 0, 0, 1}, bias1);
  p.bias.set({0, 0, 0, 2}, bias2);
  return p;
}

void expect_nan_row(const AttentionProblem& p) {
  const Truth truth = compute_truth(p);
  for (const Ball& ball : truth.o) EXPECT_EQ(ball.classes, kNaN);
  EXPECT_EQ(truth.lse[0].classes, kNaN);
}

void expect_row_of_ones(const AttentionProblem& p, double visible_keys) {
  const Truth truth = compute_truth(p);
  for (const Ball& ball : truth.o) {
    EXPECT_EQ(ball.classes, kFinite);
    EXPECT_EQ(ball.hi, 1.0);
  }
  EXPECT_EQ(truth.lse[0].classes, kFinite);
  EXPECT_NEAR(truth.lse[0].hi, 2.0 + std::log(visible_keys), 1e-15);  // two roundings of double at 3.1: 2^-51
}

TEST(SpecialAttention, NoVisibleKey) {
  AttentionProblem p = plain();
  p.key_length = {0};
  p.v.set({0, 0, 0, 0}, kNan);
  for (const AttentionProblem& problem : {p, plain_with_bias(-kInf, -kInf, -kInf)}) {
    const Truth truth = compute_truth(problem);
    for (const Ball& ball : truth.o) expect_zero(ball);
    EXPECT_EQ(truth.lse[0].classes, kNegInf);
    EXPECT_EQ(truth.max_bits, 0);
  }
}

TEST(SpecialAttention, NanScore) {
  AttentionProblem p = plain();
  p.q.set({0, 0, 0, 1}, kNan);
  expect_nan_row(p);
  p = plain();
  p.k.set({0, 0, 2, 0}, kNan);
  expect_nan_row(p);
  p = plain();  // inf − inf in the dot
  p.k.set({0, 0, 1, 0}, kInf);
  p.k.set({0, 0, 1, 1}, -kInf);
  expect_nan_row(p);
  p = plain();  // 0·inf in the dot
  p.q.set({0, 0, 0, 0}, 0.0);
  p.k.set({0, 0, 1, 0}, -kInf);
  expect_nan_row(p);
  p = plain();  // 0·(−inf) through the scale
  p.scale = 0.0F;
  p.k.set({0, 0, 1, 0}, -kInf);
  expect_nan_row(p);
  expect_nan_row(plain_with_bias(0.0, kNan, 0.0));
  p = plain_with_bias(kInf, 0.0, 0.0);  // −inf + inf
  p.k.set({0, 0, 0, 0}, -kInf);
  expect_nan_row(p);
}

TEST(SpecialAttention, PositiveInfiniteScore) {
  AttentionProblem p = plain();
  p.k.set({0, 0, 1, 0}, kInf);
  expect_nan_row(p);
  p = plain();  // −inf turned round by a negative scale
  p.scale = -1.0F;
  p.k.set({0, 0, 1, 0}, -kInf);
  expect_nan_row(p);
  expect_nan_row(plain_with_bias(0.0, kInf, 0.0));
}

TEST(SpecialAttention, NegativeInfiniteScoreIsAMask) {
  AttentionProblem p = plain();
  p.k.set({0, 0, 1, 0}, -kInf);
  p.v.set({0, 0, 1, 0}, kNan);
  expect_row_of_ones(p, 2.0);
  p = plain();
  for (const std::int64_t j : {0, 1, 2}) p.k.set({0, 0, j, 0}, -kInf);
  const Truth truth = compute_truth(p);
  for (const Ball& ball : truth.o) expect_zero(ball);
  EXPECT_EQ(truth.lse[0].classes, kNegInf);
}

TEST(SpecialAttention, StorageOfNoKeyAndHiddenKeysDoNotMatter) {
  AttentionProblem p = plain();
  p.key_length = {2};
  p.k.set({0, 0, 2, 0}, kNan);
  p.v.set({0, 0, 2, 0}, kInf);
  expect_row_of_ones(p, 2.0);
  p = plain_with_bias(0.0, -kInf, 0.0);  // the bias hides before the score is looked at
  p.k.set({0, 0, 1, 0}, kNan);
  p.v.set({0, 0, 1, 1}, kNan);
  expect_row_of_ones(p, 2.0);
  // Causal: query 0 of two sees keys 0 and 1 of three.
  AttentionProblem causal =
      attention(kF32, {.sq = 2, .sk = 3, .d = 2, .dv = 2}, [] { return 1.0; }, [] { return 1.0; }, [] { return 1.0; });
  causal.causal = true;
  causal.k.set({0, 0, 2, 0}, kNan);
  causal.v.set({0, 0, 2, 0}, kNan);
  const Truth truth = compute_truth(causal);
  EXPECT_EQ(truth.o[0].classes, kFinite);
  EXPECT_EQ(truth.o[0].hi, 1.0);
  EXPECT_EQ(truth.o[2].classes, kNaN);
  EXPECT_EQ(truth.lse[0].classes, kFinite);
  EXPECT_EQ(truth.lse[1].classes, kNaN);
}

TEST(SpecialAttention, ValuesOfVisibleKeys) {
  struct Line {
    double v0, v1;
    int classes;
  };
  for (const Line& line :
       {Line{kNan, 1.0, kNaN}, Line{kInf, 1.0, kPosInf | kNaN}, Line{-kInf, 1.0, kNegInf | kNaN},
        Line{kInf, -kInf, kPosInf | kNegInf | kNaN}, Line{kInf, kNan, kNaN}, Line{kInf, kInf, kPosInf | kNaN}}) {
    AttentionProblem p = plain();
    p.v.set({0, 0, 0, 0}, line.v0);
    p.v.set({0, 0, 2, 0}, line.v1);
    const Truth truth = compute_truth(p);
    EXPECT_EQ(truth.o[0].classes, line.classes) << line.v0 << ' ' << line.v1;
    EXPECT_EQ(truth.o[1].classes, kFinite);  // the other column does not see it
    EXPECT_EQ(truth.o[1].hi, 1.0);
    EXPECT_EQ(truth.lse[0].classes, kFinite);
  }
}

TEST(SpecialAttention, NothingToDo) {
  const Truth truth = compute_truth(
      attention(kF32, {.sq = 0, .sk = 3, .d = 2, .dv = 2}, [] { return 1.0; }, [] { return 1.0; }, [] { return 1.0; }));
  EXPECT_EQ(truth.rows, 0);
  EXPECT_TRUE(truth.o.empty() && truth.lse.empty());
}

TEST(SpecialSoftmax, Rows) {
  SoftmaxProblem p = softmax(kF32, 4, 3, [] { return 1.0; });
  p.x.set({0, 0}, kNan);
  p.x.set({0, 1}, -kInf);
  p.x.set({1, 2}, kInf);
  for (const std::int64_t j : {0, 1, 2}) p.x.set({2, j}, -kInf);
  p.row_length = {3, 3, 3, 2};
  p.x.set({3, 2}, kNan);
  const Truth truth = compute_truth(p);
  EXPECT_EQ(truth.o[0].classes, kNaN);
  EXPECT_EQ(truth.o[1].classes, kZeroOrNan);
  EXPECT_EQ(truth.o[2].classes, kNaN);
  EXPECT_EQ(truth.lse[0].classes, kNaN);
  for (int c = 3; c < 6; ++c) EXPECT_EQ(truth.o[c].classes, kNaN);
  EXPECT_EQ(truth.lse[1].classes, kNaN);
  for (int c = 6; c < 9; ++c) expect_zero(truth.o[c]);
  EXPECT_EQ(truth.lse[2].classes, kNegInf);
  EXPECT_EQ(truth.o[9].hi, 0.5);
  expect_zero(truth.o[11]);
  p.row_length = {2, 3, 3, 2};
  EXPECT_EQ(compute_truth(p).o[2].classes, kZeroOrNan);  // beyond the length of a NaN row
}

TEST(SpecialMerge, EmptyStateIsTheIdentityWhateverItHolds) {
  for (const double junk : {kNan, kInf, -kInf, 3e38}) {
    MergeProblem p = merge(kF32, 3, 1, 2, [] { return 2.0; }, [] { return 1.0; }, MergeForm::sum);
    p.lse.set({1, 0}, -kInf);
    p.o.set({1, 0, 0}, junk);
    const Truth truth = compute_truth(p);
    for (const Ball& ball : truth.o) {
      EXPECT_EQ(ball.classes, kFinite);
      EXPECT_EQ(ball.hi, 2.0);
      EXPECT_EQ(ball.radius, 0.0);
    }
    p.form = MergeForm::concat;
    const Truth blocks = compute_truth(p);
    const double expected[] = {1.0, 1.0, 0.0, 0.0, 1.0, 1.0};
    for (int c = 0; c < 6; ++c) {
      EXPECT_EQ(blocks.o[c].classes, kFinite);
      EXPECT_EQ(blocks.o[c].hi, expected[c]);
    }
  }
}

TEST(SpecialMerge, OnlyEmptyStates) {
  for (const MergeForm form : {MergeForm::sum, MergeForm::concat}) {
    const Truth truth = compute_truth(merge(kF32, 3, 1, 2, [] { return kNan; }, [] { return -kInf; }, form));
    for (const Ball& ball : truth.o) expect_zero(ball);
    EXPECT_EQ(truth.lse[0].classes, kNegInf);
  }
}

TEST(SpecialMerge, PoisonedLse) {
  for (const double lse : {kNan, kInf}) {
    MergeProblem p = merge(kF32, 3, 2, 1, [] { return 2.0; }, [] { return 1.0; }, MergeForm::sum);
    p.lse.set({0, 0}, lse);
    p.lse.set({1, 0}, -kInf);
    Truth truth = compute_truth(p);
    EXPECT_EQ(truth.o[0].classes, kNaN);
    EXPECT_EQ(truth.lse[0].classes, kNaN);
    EXPECT_EQ(truth.o[1].hi, 2.0);  // the other row does not see it
    EXPECT_EQ(truth.lse[1].classes, kFinite);
    p.form = MergeForm::concat;
    truth = compute_truth(p);
    EXPECT_EQ(truth.o[0].classes, kNaN);
    EXPECT_EQ(truth.o[1].classes, kZeroOrNan);  // the empty block of a NaN row
    EXPECT_EQ(truth.o[2].classes, kNaN);
  }
}

TEST(SpecialMerge, SpecialValuesOfStatesThatCount) {
  MergeProblem p = merge(kF32, 2, 1, 3, [] { return 1.0; }, [] { return 0.0; }, MergeForm::sum);
  p.o.set({0, 0, 0}, kNan);
  p.o.set({0, 0, 1}, kInf);
  p.o.set({1, 0, 1}, -kInf);
  Truth truth = compute_truth(p);
  EXPECT_EQ(truth.o[0].classes, kNaN);
  EXPECT_EQ(truth.o[1].classes, kPosInf | kNegInf | kNaN);
  EXPECT_EQ(truth.o[2].classes, kFinite);
  EXPECT_EQ(truth.o[2].hi, 1.0);
  p.form = MergeForm::concat;
  truth = compute_truth(p);
  EXPECT_EQ(truth.o[0].classes, kNaN);
  EXPECT_EQ(truth.o[1].classes, kPosInf | kNaN);
  EXPECT_EQ(truth.o[3].classes, kFinite);
  EXPECT_EQ(truth.o[4].classes, kNegInf | kNaN);
}

}  // namespace
}  // namespace flashproof
