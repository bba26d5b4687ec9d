// Attention: every row of the table of special values, and what a row must not look at.
#include "reference/oracle/exact/test/special_values.h"

namespace flashproof::test {
namespace {

class SpecialAttention : public SpecialValues {};
INSTANTIATE_TEST_SUITE_P(Sources, SpecialAttention, testing::Values(Source::exact_tier, Source::oracle));

void expect_row_of_ones(const Truth& truth, double visible_keys) {
  for (std::size_t c = 0; c < truth.o.size(); ++c) expect_near(truth.o[c], 1.0);
  expect_near(truth.lse[0], 2.0 + std::log(visible_keys));
}

TEST_P(SpecialAttention, NoVisibleKey) {
  AttentionProblem p = three_keys();
  p.key_length = {0};
  p.v.set({0, 0, 0, 0}, kNan);
  for (const AttentionProblem& problem : {p, three_keys_with_bias(-kInfinity, -kInfinity, -kInfinity)}) {
    const Truth truth = truth_of(problem);
    expect_zeros(truth);
    EXPECT_EQ(truth.lse[0].classes, kNegInf);
    EXPECT_EQ(truth.max_bits, 0);
  }
}

TEST_P(SpecialAttention, NanScore) {
  AttentionProblem p = three_keys();
  p.q.set({0, 0, 0, 1}, kNan);
  expect_nan_row(truth_of(p));
  p = three_keys();
  p.k.set({0, 0, 2, 0}, kNan);
  expect_nan_row(truth_of(p));
  p = three_keys();  // inf − inf in the dot
  p.k.set({0, 0, 1, 0}, kInfinity);
  p.k.set({0, 0, 1, 1}, -kInfinity);
  expect_nan_row(truth_of(p));
  p = three_keys();  // 0·inf in the dot
  p.q.set({0, 0, 0, 0}, 0.0);
  p.k.set({0, 0, 1, 0}, -kInfinity);
  expect_nan_row(truth_of(p));
  p = three_keys();  // 0·(−inf) through the scale
  p.scale = 0.0F;
  p.k.set({0, 0, 1, 0}, -kInfinity);
  expect_nan_row(truth_of(p));
  expect_nan_row(truth_of(three_keys_with_bias(0.0, kNan, 0.0)));
  p = three_keys_with_bias(kInfinity, 0.0, 0.0);  // −inf + inf
  p.k.set({0, 0, 0, 0}, -kInfinity);
  expect_nan_row(truth_of(p));
}

TEST_P(SpecialAttention, PositiveInfiniteScore) {
  AttentionProblem p = three_keys();
  p.k.set({0, 0, 1, 0}, kInfinity);
  expect_nan_row(truth_of(p));
  p = three_keys();  // −inf turned round by a negative scale
  p.scale = -1.0F;
  p.k.set({0, 0, 1, 0}, -kInfinity);
  expect_nan_row(truth_of(p));
  expect_nan_row(truth_of(three_keys_with_bias(0.0, kInfinity, 0.0)));
}

TEST_P(SpecialAttention, NegativeInfiniteScoreIsAMask) {
  AttentionProblem p = three_keys();
  p.k.set({0, 0, 1, 0}, -kInfinity);
  p.v.set({0, 0, 1, 0}, kNan);
  expect_row_of_ones(truth_of(p), 2.0);
  p = three_keys();
  for (const std::int64_t j : {0, 1, 2}) p.k.set({0, 0, j, 0}, -kInfinity);
  const Truth truth = truth_of(p);
  expect_zeros(truth);
  EXPECT_EQ(truth.lse[0].classes, kNegInf);
}

TEST_P(SpecialAttention, StorageOfNoKeyAndHiddenKeysDoNotMatter) {
  AttentionProblem p = three_keys();
  p.key_length = {2};
  p.k.set({0, 0, 2, 0}, kNan);
  p.v.set({0, 0, 2, 0}, kInfinity);
  expect_row_of_ones(truth_of(p), 2.0);
  p = three_keys_with_bias(0.0, -kInfinity, 0.0);  // the bias hides before the score is looked at
  p.k.set({0, 0, 1, 0}, kNan);
  p.v.set({0, 0, 1, 1}, kNan);
  expect_row_of_ones(truth_of(p), 2.0);
  // Causal: query 0 of two sees keys 0 and 1 of three.
  AttentionProblem causal =
      attention(kF32, {.sq = 2, .sk = 3, .d = 2, .dv = 2}, [] { return 1.0; }, [] { return 1.0; }, [] { return 1.0; });
  causal.causal = true;
  causal.k.set({0, 0, 2, 0}, kNan);
  causal.v.set({0, 0, 2, 0}, kNan);
  const Truth truth = truth_of(causal);
  expect_near(truth.o[0], 1.0);
  EXPECT_EQ(truth.o[2].classes, kNaN);
  EXPECT_EQ(truth.lse[0].classes, kFinite);
  EXPECT_EQ(truth.lse[1].classes, kNaN);
}

TEST_P(SpecialAttention, ValuesOfVisibleKeys) {
  struct Line {
    double v0, v1;
    int classes;
  };
  for (const Line& line : {Line{kNan, 1.0, kNaN}, Line{kInfinity, 1.0, kPosInf | kNaN},
                           Line{-kInfinity, 1.0, kNegInf | kNaN}, Line{kInfinity, -kInfinity, kPosInf | kNegInf | kNaN},
                           Line{kInfinity, kNan, kNaN}, Line{kInfinity, kInfinity, kPosInf | kNaN}}) {
    AttentionProblem p = three_keys();
    p.v.set({0, 0, 0, 0}, line.v0);
    p.v.set({0, 0, 2, 0}, line.v1);
    const Truth truth = truth_of(p);
    EXPECT_EQ(truth.o[0].classes, line.classes) << line.v0 << ' ' << line.v1;
    expect_near(truth.o[1], 1.0);  // the other column does not see it
    EXPECT_EQ(truth.lse[0].classes, kFinite);
  }
}

// What is known of the vectors of one head must not be taken for those of the next.
TEST_P(SpecialAttention, EveryHeadOfEverySequenceHasItsOwnSpecialValues) {
  const auto one = [] { return 1.0; };
  for (int special = 0; special < 4; ++special) {
    AttentionProblem p = attention(kF32, {.batch = 2, .q_heads = 2, .k_heads = 2, .sq = 1, .sk = 2}, one, one, one);
    p.k.set({special / 2, special % 2, 1, 0}, kNan);
    p.v.set({(3 - special) / 2, (3 - special) % 2, 0, 0}, kInfinity);
    const Truth truth = truth_of(p);
    for (int row = 0; row < 4; ++row) {
      EXPECT_EQ(truth.lse[row].classes, row == special ? kNaN : kFinite) << row << ' ' << special;
      const int classes = row == special ? kNaN : row == 3 - special ? kPosInf | kNaN : kFinite;
      EXPECT_EQ(truth.o[row * truth.width].classes, classes) << row << ' ' << special;
    }
  }
}

TEST_P(SpecialAttention, NothingToDo) {
  const Truth truth = truth_of(
      attention(kF32, {.sq = 0, .sk = 3, .d = 2, .dv = 2}, [] { return 1.0; }, [] { return 1.0; }, [] { return 1.0; }));
  EXPECT_EQ(truth.rows, 0);
  EXPECT_TRUE(truth.o.size() + truth.lse.size() == 0);
}

}  // namespace
}  // namespace flashproof::test
