// Descale factors and mixed formats in the bound and the model: no element beyond its bound, and controls that are.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/bound/attention/attention_scores.h"
#include "reference/bound/bound.h"
#include "reference/model/attack/attack_judge.h"
#include "reference/model/attack/attack_problems.h"
#include "reference/model/model.h"
#include "reference/oracle/descale.h"
#include "reference/oracle/oracle.h"
#include "reference/oracle/test/test_problems.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

Arithmetic plain() {
  return {.reduction = Reduction::chunk_deferred, .exp_error = 0x1p-23, .log_error = 0x1p-23, .lanes = 1};
}

Tensor factor(double x) {
  return test::filled(Format::f32, {1, 1}, [x] { return x; });
}

AttentionProblem two_keys(double k, double v0, double v1) {
  AttentionProblem p = test::attention(
      Format::f32, {.sq = 1, .sk = 2, .d = 1, .dv = 1}, [] { return 1.0; }, [] { return 0.0; }, [] { return 0.0; });
  p.scale = 1.0F;
  p.k.set({0, 0, 1, 0}, k);
  p.v.set({0, 0, 0, 0}, v0);
  p.v.set({0, 0, 1, 0}, v1);
  p.plan = ChunkPlan::uniform(2, 1);
  return p;
}

TEST(DescaleAttack, NoDeclarationLeavesItsBound) {
  attack::Violations all;
  for (std::uint64_t round = 0; round < 2000; ++round) {
    Random random(29, round);
    constexpr Format kFormats[] = {Format::f32, Format::f16, Format::bf16};
    Problem problem = attack::hostile(random, ProblemKind::attention, kFormats[round % 3]);
    auto& p = std::get<AttentionProblem>(problem);
    if (!p.has_descale()) {
      const int size = static_cast<int>(random.integer(-12, 12));
      const std::vector<std::int64_t> shape = {p.sequences(), p.k_heads()};
      const auto around = [&](int exponent) {
        return test::filled(Format::f32, shape, [&] { return std::ldexp(random.uniform(1, 2), exponent); });
      };
      p.q_descale = around(size);
      p.k_descale = around(-size);
      if (random.chance(0.7)) p.v_descale = around(size);
    }
    if (random.chance(0.3)) test::narrow(p, random.chance(0.5) ? Format::e4m3fn : Format::e5m2);
    const Arithmetic a = attack::declaration(random, problem);
    const attack::Violations tally = attack::attack(problem, a, a, round, 2);
    // Factors that are subnormal where those are flushed.
    if (tally.refused > 0) {
      ASSERT_NE(tally.refusal.find("v_descale"), std::string::npos) << tally.refusal;
      continue;
    }
    // A finite number out of its domain may be anywhere: that is the judge's to call silently wrong.
    if (tally.first.find("out of domain") == std::string::npos) {
      ASSERT_EQ(tally.violations, 0) << "round " << round << ": " << tally.first;
    }
    all.take(tally);
  }
  EXPECT_GT(all.elements, 1000);
  EXPECT_GT(all.worst.ratio, 0.5) << "the attack has gone soft: " << all.worst.text();
}

/// |τ^ − τ|/|τ| of the model's τ^.
double product_error(const AttentionProblem& p, const Arithmetic& a) {
  const bool flush = a.underflow == Underflow::flush;
  const auto kept = [&](float x) { return flush && std::fabs(x) < 0x1p-126F ? 0.0F : x; };
  float computed = kept(kept(p.scale) * kept(static_cast<float>(p.q_descale.at({0, 0}))));
  computed = kept(computed * kept(static_cast<float>(p.k_descale.at({0, 0}))));
  const ScoreFactor exact = score_factor(p, 0, 0);
  return std::fabs((computed - exact.hi) - exact.lo) / std::fabs(exact.hi);
}

TEST(DescaleBound, TheErrorOfTheProductIsHeldAndReached) {
  for (const Underflow underflow : {Underflow::gradual, Underflow::flush}) {
    Arithmetic a = plain();
    a.underflow = underflow;
    double normal = 0, subnormal = 0;
    Random random(31, 0);
    for (int n = 0; n < 20000; ++n) {
      AttentionProblem p = two_keys(0, 0, 1);
      const int low = n % 2 == 0 ? 0 : static_cast<int>(random.integer(-149, 0));  // where the first product may vanish
      p.scale = static_cast<float>(std::ldexp(random.uniform(1, 2), low));
      p.q_descale = factor(std::ldexp(random.uniform(1, 2), static_cast<int>(random.integer(-149, 0)) * (n % 2)));
      p.k_descale = factor(std::ldexp(random.uniform(1, 2), static_cast<int>(random.integer(-140, 120)) * (n % 2)));
      const double claimed = bound::score_scale(p, a, 0, 0).tau_error, error = product_error(p, a);
      ASSERT_LE(error, claimed) << n;
      double& reach = n % 2 == 0 ? normal : subnormal;
      reach = std::max(reach, claimed > 0 ? error / claimed : 0);
    }
    EXPECT_GT(normal, 0.75) << "one rounding would not be enough";
    EXPECT_GT(subnormal, 0.75);
  }
}

// The first product has ten bits, or none. With the f32 nearest to the exact product as the scale the bound is what it would be
// if nothing were known of that.
TEST(DescaleControl, TheProductsUnderflowIsNeeded) {
  Random random(37, 0);
  std::int64_t with = 0, without = 0;
  for (int n = 0; n < 50; ++n) {
    AttentionProblem p = two_keys(-3, 0, 1);
    p.scale = static_cast<float>(std::ldexp(random.uniform(1, 2), -70));
    p.q_descale = factor(std::ldexp(random.uniform(1, 2), -70));
    p.k_descale = factor(std::ldexp(random.uniform(1, 2), 120));
    p.q.set({0, 0, 0, 0}, 0x1p+20);
    AttentionProblem joined = p;
    joined.q_descale = joined.k_descale = {};
    joined.scale = static_cast<float>(double{p.scale} * p.q_descale.at({0, 0}) * p.k_descale.at({0, 0}));
    const Truth truth = narrow_truth(p, Format::f32);
    const Output output = run_model_unrounded(p, plain(), {.lean = Lean::up});
    with += attack::judge(p, output, truth, compute_bound(p, plain())).violations;
    without += attack::judge(p, output, truth, compute_bound(joined, plain())).violations;
  }
  EXPECT_EQ(with, 0);
  EXPECT_GT(without, 50);
}

// v_descale at the end of the combination, where the parts in f16 have lost what it would have saved.
TEST(DescaleControl, TheProductWithVBelongsToThePart) {
  AttentionProblem p = two_keys(0, 0x1.55p-20, 0x1.ddp-20);
  p.v_descale = factor(0x1p+12);
  Arithmetic split = plain();
  split.split = {.parts = 2, .partial_o = Format::f16};
  const Truth truth = narrow_truth(p, Format::f32);
  const Bound bound = compute_bound(p, split);
  EXPECT_EQ(attack::judge(p, run_model_unrounded(p, split, {.lean = Lean::up}), truth, bound).violations, 0);
  AttentionProblem without = p;
  without.v_descale = {};
  Output late = run_model_unrounded(without, split, {.lean = Lean::up});
  late.o.set({0, 0}, late.o.at({0, 0}) * 0x1p+12);
  EXPECT_EQ(attack::judge(p, late, truth, bound).violations, 1);
}

TEST(DescaleBound, ScalesWithTheFactorOfV) {
  AttentionProblem p = two_keys(1.5, 1, -3);
  const Bound one = compute_bound(p, plain());
  p.v_descale = factor(-8);
  const Bound eight = compute_bound(p, plain());
  EXPECT_GT(eight.o[0].total(), 8 * one.o[0].total()) << "one rounding more";
  EXPECT_LT(eight.o[0].total(), 8 * one.o[0].total() + 8 * 4 * 0x1p-23);
  EXPECT_EQ(eight.range[0], 8 * one.range[0]);
  EXPECT_EQ(eight.lse[0].total(), one.lse[0].total());
  p.v_descale = factor(0);
  EXPECT_EQ(compute_bound(p, plain()).o[0].total(), 0);
}

TEST(DescaleBound, AFactorThatRoundsNothingCostsNothing) {
  AttentionProblem p = two_keys(1.5, 1, -3);
  p.scale = 0.7F;
  const Bound one = compute_bound(p, plain());
  p.scale = 2.8F;
  p.q_descale = factor(0.5);
  p.k_descale = factor(0.5);
  EXPECT_EQ(compute_bound(p, plain()).o[0].total(), one.o[0].total());
  p.k_descale = factor(0.7);
  EXPECT_GT(compute_bound(p, plain()).o[0].total(), one.o[0].total());
}

TEST(DescaleBound, AProductThatLeavesTheRangeIsOutOfTheDomain) {
  AttentionProblem p = two_keys(1.5, 1, -3);
  p.q_descale = factor(0x1p+100);
  p.k_descale = factor(0x1p-100);
  EXPECT_TRUE(compute_bound(p, plain()).domain[0].holds());
  p.scale = 0x1p+60F;
  p.k_descale = factor(0x1p-149);
  EXPECT_FALSE(compute_bound(p, plain()).domain[0].holds()) << "the first product is beyond f32, the exact one is not";
  p.scale = 0x1p-60F;
  p.q_descale = factor(0x1p-100);
  p.k_descale = factor(0x1p+120);
  EXPECT_GT(compute_bound(p, plain()).o[0].total(), 0x1p-60 * 0x1p-100 * 0x1p+119) << "the first product is 0";
}

TEST(DescaleBound, RefusesWhatHasNoMeaning) {
  AttentionProblem p = two_keys(1.5, 1, -3);
  p.q_descale = factor(-1);
  Arithmetic raw = plain();
  raw.unit = ScoreUnit::raw;
  raw.exponent = Exponent::fused;
  raw.lse_form = LseForm::base2;
  EXPECT_THROW(compute_bound(p, raw), UsageError);
  p.k_descale = factor(-1);
  EXPECT_NO_THROW(compute_bound(p, raw));
  Arithmetic flush = plain();
  flush.underflow = Underflow::flush;
  p.v_descale = factor(0x1p-130);
  EXPECT_THROW(compute_bound(p, flush), UsageError);
}

TEST(DescaleModel, FormsTheScaleOnceAndMultipliesAtTheEnd) {
  AttentionProblem p = two_keys(0, 3, 3);
  p.scale = 3.3F;
  p.q_descale = factor(0.1F);
  p.k_descale = factor(0.7F);
  p.v_descale = factor(0.3F);
  p.k.set({0, 0, 0, 0}, 1.0);
  p.k.set({0, 0, 1, 0}, -0x1p+60);
  const Output output = run_model(p, plain());
  EXPECT_EQ(output.lse.at({0}), static_cast<float>(static_cast<float>(3.3F * 0.1F) * 0.7F));
  EXPECT_EQ(output.o.at({0, 0}), static_cast<float>(3 * 0.3F));
  p.q = test::filled(Format::e4m3fn, p.q.shape, [] { return 1.0; });
  EXPECT_EQ(run_model(p, plain()).o.format, Format::bf16);
}

}  // namespace
}  // namespace flashproof
