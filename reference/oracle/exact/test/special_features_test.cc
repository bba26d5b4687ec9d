// Special values where attention has a sink, a softcap, ALiBi, a window, packed sequences or pages.
#include "reference/oracle/exact/test/special_values.h"

namespace flashproof::test {
namespace {

class SpecialFeatures : public SpecialValues {};
INSTANTIATE_TEST_SUITE_P(Sources, SpecialFeatures, testing::Values(Source::exact_tier, Source::oracle));

AttentionProblem with_sink(AttentionProblem p, double sink) {
  p.sink = Tensor::dense(kF32, {1});
  p.sink.set({0}, sink);
  return p;
}

/// The scores of three_keys() become 3·tanh(2/3) = kCapped.
AttentionProblem with_cap() {
  AttentionProblem p = three_keys();
  p.softcap = 3.0F;
  return p;
}
const double kCapped = 3.0 * std::tanh(2.0 / 3.0);

TEST_P(SpecialFeatures, SinkIsOneMoreKeyOfValueZero) {
  const Truth truth = truth_of(with_sink(three_keys(), 2.0));
  for (const int c : {0, 1}) expect_near(truth.o[c], 0.75);
  expect_near(truth.lse[0], 2.0 + std::log(4.0));
  const Truth none = truth_of(with_sink(three_keys(), -kInfinity));
  for (const int c : {0, 1}) expect_near(none.o[c], 1.0);
  expect_near(none.lse[0], 2.0 + std::log(3.0));
}

TEST_P(SpecialFeatures, SinkAlone) {
  AttentionProblem p = three_keys();
  p.key_length = {0};
  p.v.set({0, 0, 0, 0}, kNan);
  for (const double sink : {1.5, -3e38, 0.0}) {
    for (AttentionProblem q : {p, three_keys_with_bias(-kInfinity, -kInfinity, -kInfinity)}) {
      q = with_sink(q, sink);
      const Truth truth = truth_of(q);
      expect_zeros(truth);
      expect_exactly(truth.lse[0], q.sink.at({0}));
      EXPECT_EQ(truth.tier[0], Tier::symbolic);
    }
  }
  const Truth truth = truth_of(with_sink(p, -kInfinity));
  expect_zeros(truth);
  EXPECT_EQ(truth.lse[0].classes, kNegInf);
}

TEST_P(SpecialFeatures, PoisonedSink) {
  AttentionProblem no_key = three_keys();
  no_key.key_length = {0};
  for (const double sink : {kNan, kInfinity}) {
    expect_nan_row(truth_of(with_sink(three_keys(), sink)));
    expect_nan_row(truth_of(with_sink(no_key, sink)));
  }
}

TEST_P(SpecialFeatures, ASinkNearTheTopOfF32LeavesNothingForTheKeys) {
  const Truth truth = truth_of(with_sink(three_keys(), 3e38));
  EXPECT_EQ(truth.o[0].classes, kFinite);
  EXPECT_LE(std::fabs(truth.o[0].hi) + truth.o[0].radius, 0x1p-120);  // e^-3e38, at 128 bits or more
  expect_near(truth.lse[0], decode(kF32, encode(kF32, 3e38)));
}

TEST_P(SpecialFeatures, SoftcapMakesInfiniteDotsFinite) {
  AttentionProblem p = with_cap();
  p.k.set({0, 0, 0, 0}, kInfinity);
  p.v.set({0, 0, 0, 0}, 5.0);
  p.k.set({0, 0, 1, 0}, -kInfinity);
  const double top = std::exp(3.0), low = std::exp(-3.0), ordinary = std::exp(kCapped);
  const Truth truth = truth_of(p);
  expect_near(truth.o[0], (5.0 * top + low + ordinary) / (top + low + ordinary));
  expect_near(truth.lse[0], std::log(top + low + ordinary));
  p.scale = -1.0F;  // turns both round, and the third: −kCapped
  const Truth turned = truth_of(p);
  expect_near(turned.lse[0], std::log(top + low + std::exp(-kCapped)));
  p.v.set({0, 0, 1, 1}, kNan);  // it has a weight now
  EXPECT_EQ(truth_of(p).o[1].classes, kNaN);
  p = with_cap();
  p.q.set({0, 0, 0, 0}, kInfinity);  // every score is +c
  expect_near(truth_of(p).lse[0], 3.0 + std::log(3.0));
}

TEST_P(SpecialFeatures, SoftcapDoesNotHideNan) {
  AttentionProblem p = with_cap();
  p.k.set({0, 0, 1, 0}, kNan);
  expect_nan_row(truth_of(p));
  p = with_cap();
  p.k.set({0, 0, 1, 0}, kInfinity);
  p.k.set({0, 0, 1, 1}, -kInfinity);
  expect_nan_row(truth_of(p));
  p = with_cap();
  p.scale = 0.0F;
  p.k.set({0, 0, 1, 0}, kInfinity);
  expect_nan_row(truth_of(p));
  p = three_keys_with_bias(0.0, kInfinity, 0.0);  // the bias comes after the cap
  p.softcap = 3.0F;
  expect_nan_row(truth_of(p));
  p = three_keys_with_bias(0.0, -kInfinity, 0.0);
  p.softcap = 3.0F;
  p.k.set({0, 0, 1, 0}, kNan);
  expect_near(truth_of(p).lse[0], kCapped + std::log(2.0));
}

TEST_P(SpecialFeatures, SoftcapAtBothEndsOfItsRange) {
  AttentionProblem p = three_keys();
  for (const std::int64_t j : {0, 1, 2}) p.k.set({0, 0, j, 0}, 3e38);
  p.softcap = 0x1p-149F;  // scores are within 2^-149 of 0
  expect_near(truth_of(p).lse[0], std::log(3.0));
  p = three_keys();
  p.softcap = 3.4e38F;  // tanh(x) = x as far as a double can tell
  expect_near(truth_of(p).lse[0], 2.0 + std::log(3.0));
}

TEST_P(SpecialFeatures, AlibiCountsFromTheDiagonalBothWays) {
  AttentionProblem p = three_keys();
  p.alibi = Tensor::dense(kF32, {1, 1});
  p.alibi.set({0, 0}, 0.5);
  p.v.set({0, 0, 2, 0}, 7.0);
  Truth truth = truth_of(p);  // the query stands beside key 2
  const double far = std::exp(1.0), middle = std::exp(1.5), near = std::exp(2.0);
  expect_near(truth.o[0], (far + middle + 7.0 * near) / (far + middle + near));
  expect_near(truth.lse[0], std::log(far + middle + near));
  p.alibi.set({0, 0}, 3e38);  // twice it is beyond f32
  truth = truth_of(p);
  expect_near(truth.o[0], 7.0);
  expect_near(truth.lse[0], 2.0);
  p.alibi.set({0, 0}, -3e38);
  p.v.set({0, 0, 0, 0}, 9.0);
  expect_near(truth_of(p).o[0], 9.0);

  // Three queries, three keys: query 0 stands beside key 0, the others lie on its right.
  const auto one = [] { return 1.0; };
  AttentionProblem square = attention(kF32, {.sq = 3, .sk = 3, .d = 2, .dv = 1}, one, one, one);
  square.scale = 1.0F;
  square.alibi = Tensor::dense(kF32, {1, 1});
  square.alibi.set({0, 0}, 0.5);
  truth = truth_of(square);
  expect_near(truth.lse[0], std::log(far + middle + near));
  expect_near(truth.lse[1], std::log(2.0 * middle + near));
  expect_near(truth.lse[2], std::log(far + middle + near));
}

TEST_P(SpecialFeatures, WhatAWindowHidesDoesNotMatter) {
  AttentionProblem p = three_keys();
  p.window_left = 1;
  p.k.set({0, 0, 0, 1}, kNan);
  p.v.set({0, 0, 0, 0}, kInfinity);
  Truth truth = truth_of(p);
  expect_near(truth.o[0], 1.0);
  expect_near(truth.lse[0], 2.0 + std::log(2.0));
  p.window_left = 2;
  expect_nan_row(truth_of(p));
  // Three queries, one key: only the last query stands beside it.
  const auto one = [] { return 1.0; };
  p = attention(kF32, {.sq = 3, .sk = 1, .d = 2, .dv = 1}, one, one, one);
  p.window_left = 0;
  p.window_right = 0;
  truth = truth_of(p);
  EXPECT_EQ(truth.lse[0].classes, kNegInf);
  EXPECT_EQ(truth.lse[1].classes, kNegInf);
  expect_exactly(truth.o[1], 0.0);
  expect_near(truth.o[2], 1.0);
  p.window_left = -1;
  p.window_right = 1;
  EXPECT_EQ(truth_of(p).lse[0].classes, kNegInf);
  expect_near(truth_of(p).o[1], 1.0);
}

TEST_P(SpecialFeatures, PackedSequencesSeeOnlyThemselves) {
  // Tokens of q: a b b, of k and v: a a b and one that is nobody's.
  const auto one = [] { return 1.0; };
  AttentionProblem p = attention(kF32, {.sq = 3, .sk = 4, .d = 2, .dv = 1}, one, one, one);
  p.scale = 1.0F;
  p.q_start = {0, 1, 3};
  p.k_start = {0, 2, 3};
  p.plan = ChunkPlan::uniform(2, 1);
  p.k.set({0, 0, 3, 0}, kNan);
  p.v.set({0, 0, 3, 0}, kNan);
  p.v.set({0, 0, 2, 0}, 4.0);
  Truth truth = truth_of(p);
  expect_near(truth.o[0], 1.0);
  expect_near(truth.o[1], 4.0);
  expect_near(truth.o[2], 4.0);
  expect_near(truth.lse[0], 2.0 + std::log(2.0));
  expect_near(truth.lse[2], 2.0);
  p.v.set({0, 0, 2, 0}, kNan);
  p.k.set({0, 0, 1, 0}, kNan);
  p.key_length = {1, 1};
  truth = truth_of(p);
  expect_near(truth.lse[0], 2.0);
  EXPECT_EQ(truth.o[1].classes, kNaN);
  p.key_length = {1, 0};
  truth = truth_of(p);
  expect_exactly(truth.o[1], 0.0);
  EXPECT_EQ(truth.lse[1].classes, kNegInf);
}

TEST_P(SpecialFeatures, UnusedSlotsAndPagesAreNotRead) {
  // Two slots a page. Sequence 0: pages 2, 0 with 3 keys; sequence 1: page 1 with 1 key, its second entry is no page.
  const auto one = [] { return 1.0; };
  AttentionProblem p = attention(kF32, {.batch = 2, .sq = 1, .sk = 2, .d = 2, .dv = 1}, one, one, one);
  p.scale = 1.0F;
  p.k = filled(kF32, {4, 1, 2, 2}, one);
  p.v = filled(kF32, {4, 1, 2, 1}, one);
  p.page_table = {2, 0, 1, -7};
  p.key_length = {3, 1};
  p.plan = ChunkPlan::uniform(4, 2);
  p.v.set({0, 0, 0, 0}, 4.0);
  for (const std::int64_t page : {0, 1, 3}) {
    p.k.set({page, 0, 1, 0}, kNan);
    p.v.set({page, 0, 1, 0}, kInfinity);
  }
  const Truth truth = truth_of(p);
  expect_near(truth.o[0], 2.0);
  expect_near(truth.lse[0], 2.0 + std::log(3.0));
  expect_near(truth.o[1], 1.0);
  expect_near(truth.lse[1], 2.0);
}

}  // namespace
}  // namespace flashproof::test
