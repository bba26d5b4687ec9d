// One constructed input per term of the radius of fp64 attention, on which the true error needs at least a quarter of
// what the term claims while every other term is there too, with the summation tree of tile-inl.h and weights-inl.h in
// hand: random problems hide a missing term behind the others. Each is a negative control: without the term, and with
// half of it where more than half is needed, the exact result is outside the ball. (attention_worst_test.cc isolates the
// terms: all others 0.) The logarithm, the sink and large magnitudes: attention_reach_ends_test.cc.
#include <gtest/gtest.h>

#include "reference/oracle/fp64/attention_reach.h"

namespace flashproof::attention64::check {
namespace {

/// Keys with v = 1, −1, 0, 0 ...: o is the difference of the first two weights, all of whose errors show.
AttentionProblem opposite_values(test::AttentionSize size) {
  AttentionProblem p = zeros(size);
  p.v.set({0, 0, 0, 0}, 1.0);
  p.v.set({0, 0, 1, 0}, -1.0);
  return p;
}

/// D = 1 + 33 products just below u, each added to 1 and dropped: 31 in the first accumulator, one in each further one.
/// The other key's product is 1 exactly. h_D = 33, all of it lost; the scale makes it large beside everything else.
AttentionProblem dropped_products() {
  AttentionProblem p = opposite_values({.sq = 1, .sk = 2, .d = 96, .dv = 1});
  p.scale = 0x1p20F;
  for (std::int64_t c = 0; c < 96; ++c) {
    const bool product = c < 32 || c % 32 == 0;
    p.q.set({0, 0, 0, c}, c == 0 ? 1.0 : 0x1p-26);
    p.k.set({0, 0, 0, c}, c == 0 ? 1.0 : (product ? 0x1p-27 * kBelowOne : 0.0));
  }
  p.k.set({0, 0, 1, 0}, 1.0);
  return p;
}

TEST(Fp64AttentionReach, Scores) { expect_o("scores", reach(dropped_products(), scores), 0.95, 0.9); }

TEST(Fp64AttentionReach, ACertificateForMoreThanADoubleHoldsIsNoticed) {
  // 2^26·2^38 quanta: a certificate up to 2^70 calls these products exact.
  AttentionOptions loose;
  loose.terms.certificate = 0x1p70;
  EXPECT_EQ(check_tier0(dropped_products()).violations, 0);
  EXPECT_GT(check_tier0(dropped_products(), loose).violations, 0);
}

TEST(Fp64AttentionReach, ArgumentScaling) {
  // A 24-bit scale, and dots of 48 bits near 2^20: scale·dot rounds.
  Random random(1, 900);
  AttentionProblem p = opposite_values({.q_heads = 400, .sq = 1, .sk = 2, .d = 1, .dv = 1});
  p.scale = static_cast<float>(random.uniform(1, 2));
  for (std::int64_t h = 0; h < 400; ++h) p.q.set({0, h, 0, 0}, 0x1p20 * random.uniform(1, 2));
  for (std::int64_t j = 0; j < 2; ++j) p.k.set({0, 0, j, 0}, 1 + 0x1p-20 * random.uniform());
  expect_o("argument: scale*dot", reach(p, argument), 0.9, 0.9);
}

TEST(Fp64AttentionReach, ArgumentBias) {
  // A bias of −600 beside a dot near 2^-30. The weight is near e^-600, and all there is in its column.
  Random random(2, 900);
  AttentionProblem p = zeros({.q_heads = 400, .sq = 1, .sk = 2, .d = 1, .dv = 1});
  p.bias = test::filled(Format::f32, {1, 400, 1, 2}, [] { return 0.0; });
  for (std::int64_t h = 0; h < 400; ++h) {
    p.q.set({0, h, 0, 0}, 0x1p-30 * random.uniform(1, 2));
    p.bias.set({0, h, 0, 1}, -600.0);
  }
  p.k.set({0, 0, 1, 0}, 1.0);
  p.v.set({0, 0, 1, 0}, 0x1p100);
  expect_o("argument: bias", reach(p, argument), 0.9, 0.9);
}

TEST(Fp64AttentionReach, ArgumentMinusM) {
  // A score near 2^-30 beside m = 600. The weight is near e^-600, and all there is in its column.
  Random random(3, 900);
  AttentionProblem p = zeros({.q_heads = 400, .sq = 1, .sk = 2, .d = 1, .dv = 1});
  for (std::int64_t h = 0; h < 400; ++h) p.q.set({0, h, 0, 0}, random.uniform(1, 1.1));
  p.k.set({0, 0, 0, 0}, 600.0);
  p.k.set({0, 0, 1, 0}, 0x1p-30);
  p.v.set({0, 0, 1, 0}, 0x1p100);
  expect_o("argument: x - m", reach(p, argument), 0.9, 0.9);
}

TEST(Fp64AttentionReach, ArgumentAlibiBesideBias) {
  // A slope of 24 bits below 1 beside a bias of 2^25.
  Random random(4, 900);
  AttentionProblem p = opposite_values({.q_heads = 400, .sq = 1, .sk = 2, .d = 1, .dv = 1});
  p.alibi = test::filled(Format::f32, {1, 400}, [&] { return random.uniform(0.01, 1); });
  p.bias = test::filled(Format::f32, {1, 400, 1, 2}, [] { return 0x1p25; });
  expect_o("argument: bias - ALiBi", reach(p, argument), 0.9, 0.9);
}

TEST(Fp64AttentionReach, ArgumentAlibiProduct) {
  // A slope of 24 bits times a distance of 31: two bits too many. Query 0 of nearly 2^31 in one place (stride 0), 2 keys.
  constexpr std::int64_t kQueries = (std::int64_t{1} << 31) - 3;
  AttentionProblem p = opposite_values({.sq = 1, .sk = 2, .d = 1, .dv = 1});
  p.q = Tensor::strided(Format::f32, {1, 1, kQueries, 1}, {1, 1, 0, 1});
  p.q.set({0, 0, 0, 0}, 0.0);
  Reach found;
  for (int n = 0; n < 50; ++n) {
    const double slope = 1 + 0x1p-23 * (4 * n + 1);
    p.alibi = test::filled(Format::f32, {1, 1}, [slope] { return slope; });
    ASSERT_NO_THROW(validate(p));
    // The scores are −slope·(Sq − 2 + j): softmax of (0, −slope), lse = −slope·(Sq − 2) + log(1 + e^−slope).
    const Fine w = exp(Fine(-Fine(slope)));
    const Fine first = -Fine(slope) * Fine(static_cast<double>(kQueries - 2));
    const ReferenceResult<Fine> exact{{Fine((1 - w) / (1 + w))}, {Fine(first + log(Fine(1 + w)))}};
    found += reach(p, argument, {}, exact, {0});
  }
  expect_o("argument: ALiBi product", found, 0.9, 0.9);
}

TEST(Fp64AttentionReach, Exp) {
  // v = 0 beside the weight 1, so o is e^x v / L: the product rounds as much as `values` says, and exp errs by up to
  // 1.25 u of the 2u claimed.
  Random random(5, 900);
  Pair pair(random, -20.0, -10.0);
  for (std::int64_t h = 0; h < Pair::kHeads; ++h) pair.p.q.set({0, h, 0, 0}, worst_exponent(random, -20.0, -10.0, 20));
  for (std::int64_t c = 0; c < 16; ++c) pair.p.v.set({0, 0, 32, c}, random.uniform(1, 2));
  expect_o("exp", reach(pair.p, exp_of_weight, pair.options), 0.5, 0.7);
}

TEST(Fp64AttentionReach, Output) {
  // v = 1 beside the weight 1, and a small weight with v = 0: only L = 1 + w and N / L round.
  Random random(6, 900);
  Pair pair(random, -20.0, -12.0);
  pair.p.v.set({0, 0, 31, 0}, 1.0);
  expect_o("output", reach(pair.p, output, pair.options), 0.9, 0.9);
}

TEST(Fp64AttentionReach, Sum) {
  expect_lse("sum", reach(sum_that_rounds_up(), sum), 0.75, 0.75);  // log stands before it
}

TEST(Fp64AttentionReach, Values) {
  // 64 weights of 1, v just below u after a first 1: 31 are dropped in the accumulator, one more between the two.
  AttentionProblem p = by_scores(std::vector<double>(64, 0.0));
  for (std::int64_t j = 0; j < 64; ++j) {
    const bool counts = j < 32 || j == 32;
    p.v.set({0, 0, j, 0}, j == 0 ? 1.0 : (counts ? 0x1p-53 * kBelowOne : 0.0));
  }
  expect_o("values", reach(p, values), 0.7, 0.75);
}

TEST(Fp64AttentionReach, Chunks) {
  // 60 chunks of 32 keys, a weight just below u in each after the first: all dropped from L.
  std::vector<double> score(60 * 32, kNoWeight);
  for (std::size_t chunk = 1; chunk < 60; ++chunk) score[chunk * 32] = near_unit(false);
  score[0] = 0.0;
  AttentionProblem p = by_scores(score);
  p.v.set({0, 0, 0, 0}, 1.0);
  AttentionOptions options;
  options.chunk = 32;
  Reach found = reach(p, chunks, options);
  expect_lse("chunks: L", found, 0.8, 0.8);
  // The same of N, with weights of 1 each and values that are dropped.
  p = by_scores(std::vector<double>(60 * 32, 0.0));
  for (std::int64_t chunk = 0; chunk < 60; ++chunk) {
    p.v.set({0, 0, chunk * 32, 0}, chunk == 0 ? 1.0 : 0x1p-53 * kBelowOne);
  }
  found = reach(p, chunks, options);
  expect_o("chunks: N", found, 0.25);
}

TEST(Fp64AttentionReach, RescaleExpAndProduct) {
  // 200 chunks, the score x higher in each, and only the first key has a value: N goes through 199 products with e^−x,
  // whose error is the same each time. Some x below log 2 on which e^−x errs much; the products' own roundings are luck.
  Random random(7, 900);
  std::vector<double> score(200 * 32);
  for (std::size_t j = 0; j < score.size(); ++j) {
    const std::size_t chunk = j / 32;
    score[j] = static_cast<double>(chunk);
  }
  AttentionProblem p = by_scores(score);
  p.v.set({0, 0, 0, 0}, 0x1p100);
  AttentionOptions options;
  options.chunk = 32;
  options.growth = 0;
  Reach found;
  for (int n = 0; n < 6; ++n) {
    p.q.set({0, 0, 0, 0}, -worst_exponent(random, -0.693, -0.66, 500));
    found += reach(p, rescale, options);
  }
  expect_o("rescale: e^-x and product", found, 0.25);
}

TEST(Fp64AttentionReach, RescaleChangeOfM) {
  // m moves from near 2^-30 to 600: m − 600 rounds.
  Random random(8, 900);
  Pair pair(random, 600.0, 600.1);
  pair.p.k.set({0, 0, 31, 0}, 0x1p-40 * 0x1.abcdefp0);
  pair.p.v.set({0, 0, 31, 0}, 0x1p100);
  expect_o("rescale: change of m", reach(pair.p, rescale, pair.options), 0.9, 0.9);
}

TEST(Fp64AttentionReach, Softcap) {
  // Scores capped at 2^15, so that what the cap loses is large beside the rest.
  Random random(9, 900);
  AttentionProblem p = opposite_values({.q_heads = 4000, .sq = 1, .sk = 2, .d = 1, .dv = 1});
  p.softcap = 0x1p15F;
  for (std::int64_t h = 0; h < 4000; ++h) p.q.set({0, h, 0, 0}, 0x1p15 * random.uniform(0.05, 1.5));
  p.k.set({0, 0, 0, 0}, 1.0);
  p.k.set({0, 0, 1, 0}, 1 - 0x1p-14);
  expect_o("softcap", reach(p, softcap), 0.25);
}

}  // namespace
}  // namespace flashproof::attention64::check
