// The rest of attention_reach_test.cc: the logarithm, weights that vanish, and magnitudes at which the scores' own errors
// are nats.
//
// Not constructed: the sink's own difference from m. It is where a row starts, so it is 0 but in an anchored row, whose
// error of 1/4 or more (README.md) leaves the sink no weight that could be bounded. A sink that m moves away from is
// rescaled like every other weight, which RescaleExpAndProduct and RescaleChangeOfM show.
#include <gtest/gtest.h>

#include <limits>

#include "reference/oracle/fp64/attention_reach.h"

namespace flashproof::attention64::check {
namespace {

TEST(Fp64AttentionReach, LogExp) {
  // What certifies the logarithm is e^-y, with up to 1.25 u of the 2u claimed. The error of y, at most half an ulp, must
  // be as large to show it: y > 1, and L = 1 + 1 + w just below 4, where e^-y errs most. The sink and the first key have
  // the weight 1, without error; w's own 2u, of half of L, stand in front.
  Random random(1, 901);
  Pair pair(random, 0.6, 0.693);
  for (std::int64_t h = 0; h < Pair::kHeads; ++h) {
    const auto minus_log_sum = [](double x) { return -std::log(2 + std::exp(x)); };
    pair.p.q.set({0, h, 0, 0}, worst_exponent(random, 0.6, 0.693, 20, minus_log_sum));
  }
  pair.p.sink = test::filled(Format::f32, {Pair::kHeads}, [] { return 0.0; });
  expect_lse("log: exp", reach(pair.p, log_exp, pair.options), 0.1);
}

TEST(Fp64AttentionReach, LogResidual) {
  // log L near 15: rounding it loses up to 8u. The second of two chunks has nearly all the weight.
  Random random(2, 901);
  Pair pair(random, 12.0, 15.9);
  pair.options.growth = 16;
  expect_lse("log: residual", reach(pair.p, log_residual, pair.options), 0.4);
}

TEST(Fp64AttentionReach, LogSum) {
  // The input of Sum: what L may be goes into the logarithm whole.
  expect_lse("log: sum", reach(sum_that_rounds_up(), log_sum), 0.75);
}

TEST(Fp64AttentionReach, Shift) {
  expect_lse("lse = m + log L", reach(by_scores({1048577.0, 1048577.0, 1048577.0}), shift), 0.9, 0.9);
}

/// The dot of key 1 is computed as 1 and is 1 + 31 u (1 − 2^-11); that of key 0 is 1 + excess, exactly. Scaled so that the
/// error is `nats`, and key 1 is `below` behind as computed.
AttentionProblem nearly_vanished(double nats, double below, double v) {
  AttentionProblem p = zeros({.sq = 1, .sk = 2, .d = 32, .dv = 1});
  p.scale = static_cast<float>(nats * 0x1p53 / 31);
  const double excess = below / p.scale;                     // 2^-26 from q times a multiple of 2^-25: certified
  const double part = std::ceil(excess * 0x1p51) * 0x1p-25;  // steps of 1/30 nat
  for (std::int64_t c = 0; c < 32; ++c) {
    p.q.set({0, 0, 0, c}, c == 0 ? 1.0 : 0x1p-26);
    p.k.set({0, 0, 0, c}, c == 0 ? 1.0 : (c == 1 ? part : 0.0));
    p.k.set({0, 0, 1, c}, c == 0 ? 1.0 : 0x1p-27 * kBelowOne);
  }
  p.v.set({0, 0, 1, 0}, v);
  return p;
}

TEST(Fp64AttentionReach, VanishedBelowMinus60) {
  // x + e is just below −60, x is short of the truth by e: the weight is nearly e^-60 = 2^-86.6 of the 2^-86 claimed.
  expect_o("vanished: -60", reach(nearly_vanished(0.2501, 60.2601, 1.0), vanished), 0.6, 0.6);
}

TEST(Fp64AttentionReach, VanishedBelowMinus700) {
  // Claimed is 2^-1000, needed at most e^-700 = 2^-1009.9: a thousandth, out of convenience. Dropping it is noticed.
  const Reach found = reach(nearly_vanished(0.2501, 700.2601, 0x1p120), vanished);
  found.print("vanished: -700");
  EXPECT_EQ(found.violations, 0);
  EXPECT_GT(found.share_o, 0x1p-11);
  EXPECT_GT(found.without, 0);
}

TEST(Fp64AttentionReach, AWeightThatDoesNotVanishIsNotDropped) {
  // −59 is above the limit: without a radius for such a weight the row has none, and it must not be taken for 0.
  const AttentionProblem p = nearly_vanished(0.2501, 59.0, 1.0);
  EXPECT_GT(reference<Fine>(p).o[0], Fine(0x1p-86));  // a 0 with the radius of a vanished weight would be a lie
  EXPECT_EQ(run_tier0(p).truth.o[0].radius, std::numeric_limits<double>::infinity());
}

TEST(Fp64AttentionReach, AnchoredLse) {
  // A single key, whose score is known to 31 u of 2^53 only: lse takes all of it.
  AttentionProblem p = zeros({.sq = 1, .sk = 1, .d = 32, .dv = 1});
  p.scale = 0x1p53F;
  for (std::int64_t c = 0; c < 32; ++c) {
    p.q.set({0, 0, 0, c}, c == 0 ? 1.0 : 0x1p-26);
    p.k.set({0, 0, 0, c}, c == 0 ? 1.0 : 0x1p-27 * kBelowOne);
  }
  p.v.set({0, 0, 0, 0}, 1.0);
  expect_lse("anchored lse", reach(p, scores), 0.95, 0.95);
  EXPECT_EQ(run_tier0(p).truth.o[0].hi, 1.0);
}

/// Key 0: 1 + 31 products just below u, which its first accumulator drops, and −1 in the second: computed 0. Key 1: 0.
AttentionProblem dropped_then_cancelled(double scale, double softcap) {
  AttentionProblem p = zeros({.sq = 1, .sk = 2, .d = 64, .dv = 1});
  p.scale = static_cast<float>(scale);
  p.softcap = static_cast<float>(softcap);
  for (std::int64_t c = 0; c < 64; ++c) {
    p.q.set({0, 0, 0, c}, c % 32 == 0 ? 1.0 : 0x1p-26);
    if (c < 32) p.k.set({0, 0, 0, c}, c == 0 ? 1.0 : 0x1p-27 * kBelowOne);
  }
  p.k.set({0, 0, 0, 32}, -1.0);
  p.v.set({0, 0, 0, 0}, 1.0);
  p.v.set({0, 0, 1, 0}, -1.0);
  return p;
}

TEST(Fp64AttentionReach, SoftcapPassesTheErrorOfTheScore) {
  // Where the slope of tanh is 1. 31 u of the 64 u that ‖q‖‖k‖ = 2 makes of h_D = 32.
  expect_o("softcap: slope 1", reach(dropped_then_cancelled(0x1p20, 1.0), scores), 0.45);
}

TEST(Fp64AttentionReach, SoftcapSaturates) {
  // A score of 0 that may be off by more than the cap: claimed is 2c, needed 0.76 c.
  expect_o("softcap: saturated", reach(dropped_then_cancelled(0.1 * 0x1p53 / 31, 0.1), scores), 0.25);
}

}  // namespace
}  // namespace flashproof::attention64::check
