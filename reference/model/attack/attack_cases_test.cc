// The smallest case of every violation that the attack has found, so that none comes back unseen.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "reference/bound/declare/presets.h"
#include "reference/bound/test/one_row.h"
#include "reference/model/attack/attack_judge.h"
#include "reference/oracle/oracle.h"

namespace flashproof {
namespace {

using attack::Violations;

SoftmaxProblem row_of(const std::vector<float>& x, int chunk, Format format = Format::f32) {
  const auto n = static_cast<std::int64_t>(x.size());
  SoftmaxProblem p;
  p.x = Tensor::dense(format, {1, n});
  for (std::int64_t j = 0; j < n; ++j) p.x.set({0, j}, x[static_cast<std::size_t>(j)]);
  p.plan = ChunkPlan::uniform(n, chunk);
  return p;
}

MergeProblem states(const std::vector<float>& lse, const std::vector<float>& o, MergeForm form = MergeForm::sum,
                    Format format = Format::f32) {
  const auto n = static_cast<std::int64_t>(lse.size());
  MergeProblem p;
  p.form = form;
  p.o = Tensor::dense(format, {n, 1, 1});
  p.lse = Tensor::dense(Format::f32, {n, 1});
  for (std::int64_t c = 0; c < n; ++c) {
    p.o.set({c, 0, 0}, o[static_cast<std::size_t>(c)]);
    p.lse.set({c, 0}, lse[static_cast<std::size_t>(c)]);
  }
  p.order.resize(lse.size());
  std::iota(p.order.begin(), p.order.end(), 0);
  return p;
}

Violations of(const Problem& problem, const Arithmetic& a) { return attack::attack(problem, a, a, 1, 14); }

void expect_within(const Problem& problem, const Arithmetic& a) {
  const Violations tally = of(problem, a);
  EXPECT_EQ(tally.violations, 0) << tally.first;
  EXPECT_EQ(tally.refused, 0) << tally.refusal;
  EXPECT_GT(tally.elements, 0) << "nothing was judged";
}

/// The same where the bound may be vacuous: the row is in its domain, and nothing is beyond its bound.
void expect_no_violation(const Problem& problem, const Arithmetic& a) {
  const Violations tally = of(problem, a);
  EXPECT_EQ(tally.violations, 0) << tally.first;
  EXPECT_EQ(tally.refused, 0) << tally.refusal;
  const Precondition nearest = compute_bound(problem, a).domain[0].nearest;
  EXPECT_TRUE(nearest.holds()) << nearest.name << ": " << nearest.value << ", limit " << nearest.limit;
}

constexpr Arithmetic softmax(Reduction reduction, Exponent exponent, double error) {
  return {.reduction = reduction, .exponent = exponent, .exp_error = error, .log_error = error, .lanes = 1, .warps = 1};
}
constexpr Arithmetic merge(Reduction reduction, MergeWeights weights) {
  return {.reduction = reduction,
          .exponent = Exponent::accurate,
          .exp_error = 0x1p-23,
          .log_error = 0x1p-23,
          .merge_weights = weights};
}

TEST(AttackCases, a_weight_over_an_infinite_divisor_is_lost_whole) {
  const Arithmetic a = merge(Reduction::pairwise_fold, MergeWeights::one_sided);
  expect_within(states({90, 0}, {0, 1}), a);
  expect_within(states({90, 0}, {0, 1}, MergeForm::concat), a);
}

TEST(AttackCases, an_infinite_exponential_of_a_form_of_its_own_is_no_excuse) {
  for (const MergeWeights weights : {MergeWeights::one_sided, MergeWeights::running}) {
    const Problem problem = states({-99.8F, 0}, {1, 1});
    const Arithmetic a = merge(Reduction::pairwise_fold, weights);
    const Bound bound = compute_bound(problem, a);
    EXPECT_TRUE(bound.domain[0].holds());
    EXPECT_FALSE(bound.domain[0].form.holds());
    EXPECT_EQ(of(problem, a).elements, 0) << "it is not the bound that is attacked there";
  }
}

TEST(AttackCases, a_chunks_own_weight_may_be_subnormal) {
  Arithmetic a = softmax(Reduction::chunk_states, Exponent::accurate, 0x1p-23);
  a.merge_weights = MergeWeights::unshifted;
  expect_within(row_of({-157, -78}, 1), a);
  expect_within(row_of({60, -40}, 2), a);
  for (const float x : {-448.0F, -6165.0F}) {
    const Bound bound = compute_bound(row_of({x, x, x}, 1), a);  // throws where it is no number
    EXPECT_FALSE(bound.domain[0].form.holds());
  }
}

TEST(AttackCases, a_single_state_is_multiplied_by_one_and_flushed) {
  expect_within(states({0}, {5.6e-45F}), presets::kFa2Combine);
  expect_within(states({0}, {5.6e-45F}, MergeForm::concat), presets::kFa2Combine);
}

TEST(AttackCases, the_reciprocal_of_one_errs_as_any_other) {
  expect_within(states({0}, {1}), presets::kVllmMerge);
  expect_within(states({0}, {1}, MergeForm::concat), presets::kVllmMerge);
  expect_within(states({0}, {1.5F}, MergeForm::sum, Format::bf16), presets::kVllmMerge);
}

TEST(AttackCases, the_logarithm_of_a_sum_that_is_exactly_one_errs_by_what_the_sum_does) {
  for (const Exponent exponent : {Exponent::fused, Exponent::unfused}) {
    Arithmetic a = softmax(Reduction::chunked_online, exponent, 0x1p-6);
    a.log_error = 0x1p-8;
    expect_within(row_of({-0.6875F}, 1), a);
    a.exp_error = 0x1p-10;
    a.log_error = 0x1p-4;
    for (int k = 1; k < 40; ++k) {  // fl(x·ĉ) − x·ĉ is above 0 in some of them
      const float x = 0.1F * static_cast<float>(k);
      expect_within(row_of({x, x}, 2), a);
    }
  }
}

TEST(AttackCases, what_underflows_is_divided_by_the_least_sum) {
  std::vector<float> x(35, -165.0F);
  for (std::size_t j = 0; j < x.size(); ++j) x[j] -= 0.1F * static_cast<float>(j);
  x[0] = -83.0F;
  for (const double error : {0x1p-4, 0x1p-6, 0x1p-10}) {
    expect_within(row_of(x, 35), softmax(Reduction::unshifted, Exponent::accurate, error));
    expect_within(row_of({-69, -179}, 2, Format::bf16), softmax(Reduction::unshifted, Exponent::accurate, error));
  }
}

TEST(AttackCases, running_weights_use_an_lse_that_is_stored_afterwards) {
  Arithmetic a = merge(Reduction::pairwise_fold, MergeWeights::running);
  a.lse_format = Format::bf16;
  expect_within(states({147.246F, 142.246F, 147.247F}, {1, 1, -1}, MergeForm::sum, Format::f16), a);
  a.reduction = Reduction::pairwise_tree;
  expect_within(states({147.246F, 142.246F, 147.247F}, {1, 1, -1}, MergeForm::concat, Format::f16), a);
}

TEST(AttackCases, an_unshifted_sum_of_large_values_overflows_before_its_weights) {
  const Problem problem = states({49.3F, 49.0F}, {2e20F, 2e20F});
  const Bound bound = compute_bound(problem, merge(Reduction::flat, MergeWeights::unshifted));
  EXPECT_TRUE(bound.domain_of(0).holds());
  EXPECT_FALSE(bound.domain_of(0).form.holds());
  EXPECT_TRUE(compute_bound(problem, merge(Reduction::flat, MergeWeights::shifted)).domain_of(0).form.holds());
}

TEST(AttackCases, a_flushed_value_is_lost_in_units_of_its_weight) {
  Arithmetic a = merge(Reduction::flat, MergeWeights::unshifted);
  a.underflow = Underflow::flush;
  expect_within(states({16.44F, 16.61F}, {-7e-45F, 0}, MergeForm::concat), a);
  expect_within(states({16.44F, 16.44F}, {1.1e-38F, 2.3e-38F}), a);  // and the quotient is flushed besides
}

TEST(AttackCases, a_quotient_of_normal_numbers_may_be_flushed) {
  MergeProblem p = states({0}, {1.5e-37F}, MergeForm::concat);
  p.l = Tensor::dense(Format::f32, {1, 1});
  p.l.set({0, 0}, 64);
  Arithmetic a = merge(Reduction::pairwise_fold, MergeWeights::max_sum);
  a.underflow = Underflow::flush;
  expect_within(p, a);
  a.reduction = Reduction::flat;
  expect_within(p, a);
}

TEST(AttackCases, an_infinite_reciprocal_beside_zeros_is_a_bound_of_zero) {
  Arithmetic a = merge(Reduction::flat, MergeWeights::unshifted);
  a.ending = Ending::multiply_reciprocal;
  for (const MergeForm form : {MergeForm::sum, MergeForm::concat}) {
    const Bound bound = compute_bound(states({52674, 52675}, {0, 0}, form), a);  // throws where it is no number
    EXPECT_FALSE(bound.domain[0].form.holds());
  }
}

// Flushed, a difference of raw scores is lost below 2^-126 of their unit, however large the unit is: e^-0.992 is 1 here.
TEST(AttackCases, a_flushed_difference_of_raw_scores_is_lost_in_their_unit) {
  AttentionProblem p;
  p.q = Tensor::dense(Format::bf16, {1, 1, 1, 1});
  p.k = Tensor::dense(Format::bf16, {1, 1, 2, 1});
  p.v = Tensor::dense(Format::bf16, {1, 1, 2, 1});
  p.q.set({0, 0, 0, 0}, 0x1p-63);
  p.k.set({0, 0, 0, 0}, 0x1p-63);
  p.k.set({0, 0, 1, 0}, 0x1.fep-63);
  p.v.set({0, 0, 0, 0}, 1);
  p.v.set({0, 0, 1, 0}, -1);
  p.scale = 0x1p126F;
  p.plan = ChunkPlan::uniform(2, 2);
  Arithmetic a = bound::declared(Reduction::chunk_deferred);
  a.dot.unit = a.values.unit = kHopperF16;
  a.underflow = Underflow::flush;
  for (const Exponent exponent :
       {Exponent::accurate, Exponent::subtract_then_scale, Exponent::fused, Exponent::unfused}) {
    a.exponent = exponent;
    a.unit = exponent == Exponent::accurate ? ScoreUnit::natural : ScoreUnit::raw;
    a.lse_form = exponent == Exponent::accurate ? LseForm::max_plus_log : LseForm::scaled_max_plus_log;
    expect_no_violation(p, a);
    p.plan = ChunkPlan::uniform(2, 1);  // and as a rescaling factor
    expect_no_violation(p, a);
  }
  p.k.set({0, 0, 0, 0}, 0x1p-64);  // a unit keeps 2^-127, the next operation does not
  for (const bool scaled : {false, true}) {
    a.query_scaled = scaled;
    a.unit = ScoreUnit::natural;
    a.exponent = Exponent::accurate;
    a.lse_form = LseForm::max_plus_log;
    expect_no_violation(p, a);
  }
}

// Every weight of a part is e^κ, and what it loses is not: 2^-25 of P beside weights of 2^-20. Seen where one part has all
// keys (beside another the combination's own fused exponent errs by as much) and values are equal (else scores that large
// leave nothing to bound).
TEST(AttackCases, what_a_part_loses_stands_beside_its_kappa) {
  for (const MergeWeights weights : {MergeWeights::stable, MergeWeights::max_sum}) {
    Arithmetic a = bound::declared(Reduction::chunk_deferred);
    a.exponent = Exponent::fused;
    a.weights = {.format = Format::f16, .scale = 0x1p-4};
    a.split = {.parts = 2, .combine = Reduction::pairwise_fold, .weights = weights};
    for (int k = 0; k < 40; ++k) {  // fl(m·ĉ) − m·ĉ is far above 0 in some of them
      const float m = 2.1e8F * (1 + 0x1p-11F * static_cast<float>(k));
      expect_no_violation(bound::one_row({m, m - 16, m - 64}, {1, 1, 1}, 3), a);
    }
  }
}

TEST(AttackCases, a_scale_over_a_softcap_stays_below_the_f32_range) {
  AttentionProblem p = bound::one_row({0, 0x1p-100F}, {1, -1}, 2);
  p.scale = 0x1p100F;
  p.softcap = 0x1p-60F;
  Arithmetic a = bound::declared(Reduction::chunk_deferred);
  a.tanh_error = 0x1p-20;
  a.unit = ScoreUnit::raw;
  a.exponent = Exponent::subtract_then_scale;
  a.lse_form = LseForm::scaled_max_plus_log;
  EXPECT_FALSE(compute_bound(p, a).domain[0].holds()) << "0 times 2^160 is NaN";
  EXPECT_EQ(of(p, a).violations, 0);
  p.softcap = 0x1p-20F;
  expect_within(p, a);
  a.unit = ScoreUnit::natural;
  a.lse_form = LseForm::max_plus_log;
  p.softcap = 0x1p-60F;
  expect_within(p, a);  // x/c is a number, or infinite where x is none of 0
}

TEST(AttackCases, the_lse_of_a_single_state_is_flushed) {
  expect_within(states({0x1p-127F}, {1}), presets::kFa2Combine);
  for (const Reduction reduction : {Reduction::flat, Reduction::pairwise_tree}) {
    Arithmetic a = merge(reduction, MergeWeights::max_sum);
    a.underflow = Underflow::flush;
    expect_within(states({0x1p-127F}, {1}), a);
  }
}

// e^-131 is lost whole or is 2^-126: times l = 2^64 that is more than the state which has the maximum.
TEST(AttackCases, the_largest_m_need_not_carry_a_row_of_sums) {
  MergeProblem p = states({0, 131, -159}, {0.25F, 0.25F, 0.25F});
  p.l = Tensor::dense(Format::f32, {3, 1});
  const double l[] = {0x1p64, 0x1p-82, 0x1p64};
  for (int c = 0; c < 3; ++c) p.l.set({c, 0}, l[c]);
  for (const Reduction reduction : {Reduction::flat, Reduction::pairwise_tree}) {
    Arithmetic a = merge(reduction, MergeWeights::max_sum);
    a.underflow = Underflow::flush;
    expect_no_violation(p, a);
    EXPECT_GT(compute_bound(p, a).lse[0].total(), std::log(0x1p20));
  }
}

// Between joins far below another the difference of two lse has no room beside that other's: it is taken by itself.
TEST(AttackCases, joins_far_below_the_largest_keep_their_differences) {
  const Problem problem = states({0x1p87F, 1, 0, 0x1p18F}, {1, 1, 1, 1});
  const Bound bound = compute_bound(problem, merge(Reduction::pairwise_tree, MergeWeights::running));
  EXPECT_FALSE(bound.domain[0].form.holds()) << "e^(2^18) of the second pair is infinite";
}

// The second state's own factor in the first join is 2^0.09 of the frame's rounding, which what the second join loses is multiplied by.
TEST(AttackCases, what_a_join_of_sums_loses_has_the_kappa_of_earlier_joins) {
  MergeProblem p = states({-33554430, -29249380, 0}, {0x1.da3a16p-62F, 0x1.02p+62F, 0x1.8p+62F}, MergeForm::concat);
  p.l = Tensor::dense(Format::f32, {3, 1});
  const double l[] = {0x1.1b2e6ep+63, 0x1.183accp-63, 0x1.8p+45};
  for (int c = 0; c < 3; ++c) p.l.set({c, 0}, l[c]);
  Arithmetic a = merge(Reduction::pairwise_tree, MergeWeights::max_sum);
  a.exponent = Exponent::fused;
  a.underflow = Underflow::gradual;
  a.ending = Ending::multiply_reciprocal;
  expect_no_violation(p, a);
}

struct Keys {
  std::int64_t count;
  float k, bias, v;
};

/// A query of 1.1875, which e4m3fn has as 1.25: what a score has of k is 5 % off, what it has of the bias is not.
AttentionProblem keys_of(const std::vector<Keys>& groups, std::int64_t chunk) {
  std::int64_t n = 0;
  for (const Keys& group : groups) n += group.count;
  AttentionProblem p;
  p.q = Tensor::dense(Format::f32, {1, 1, 1, 1});
  p.k = Tensor::dense(Format::f32, {1, 1, n, 1});
  p.v = Tensor::dense(Format::f32, {1, 1, n, 1});
  p.bias = Tensor::dense(Format::f32, {1, 1, 1, n});
  p.scale = 1;
  p.q.set({0, 0, 0, 0}, 1.1875);
  std::int64_t at = 0;
  for (const Keys& group : groups) {
    for (std::int64_t i = 0; i < group.count; ++i, ++at) {
      p.k.set({0, 0, at, 0}, group.k);
      p.v.set({0, 0, at, 0}, group.v);
      p.bias.set({0, 0, 0, at}, group.bias);
    }
  }
  p.plan = ChunkPlan::uniform(n, chunk);
  return p;
}

Arithmetic split(int parts, Reduction combine, MergeWeights weights) {
  Arithmetic a = merge(Reduction::chunk_deferred, MergeWeights::stable);
  a.lanes = 4;
  a.underflow = Underflow::flush;
  a.query_scaled = true;
  a.query = Format::e4m3fn;
  a.split = {.parts = parts, .combine = combine, .weights = weights};
  return a;
}

// The maximum of a part is in more doubt than its sum, which many sure keys make certain.
TEST(AttackCases, a_frame_of_sums_is_a_maximum_in_doubt) {
  const AttentionProblem p = keys_of({{1000, 0, 0, 0}, {1, 67.37F, -80, 0}, {1001, 0, -84, 0x1p60F}}, 1001);
  expect_no_violation(p, split(2, Reduction::flat, MergeWeights::max_sum));
}

// What is lost is lost of each weight in the kernel's frame, however many keys the part has.
TEST(AttackCases, a_lost_factor_of_sums_is_not_shared_by_the_keys) {
  std::vector<Keys> groups = {{1, 3.2F, -3.8F, 0}, {999, 0, -1000, 0}, {1000, 0, -87.2F, 0x1p60F}};
  expect_no_violation(keys_of(groups, 1000), split(2, Reduction::flat, MergeWeights::max_sum));
}

// All parts together lie ln of their number above each.
TEST(AttackCases, an_lse_of_many_parts_lies_above_all_of_them) {
  const AttentionProblem p = keys_of({{63, 0, 0, 0}, {1, -3.2F, -79.25F, 0x1p60F}}, 1);
  for (const auto& [combine, weights] : {std::pair{Reduction::flat, MergeWeights::division_free},
                                         std::pair{Reduction::pairwise_fold, MergeWeights::stable},
                                         std::pair{Reduction::pairwise_fold, MergeWeights::running}}) {
    expect_no_violation(p, split(64, combine, weights));
  }
}

// The frame of the second weights is lse, whose product is rounded, too.
TEST(AttackCases, a_weight_that_nothing_divides_is_subnormal_by_the_rounding_of_lse) {
  constexpr float kFirst = 1476319.375F;
  Arithmetic a = merge(Reduction::flat, MergeWeights::division_free);
  a.exponent = Exponent::fused;
  a.underflow = Underflow::flush;
  const std::vector<float> lse = {kFirst,          kFirst - 0.625F, kFirst - 0.625F,
                                  kFirst - 4.875F, kFirst - 2.875F, kFirst - 86.375F};
  expect_no_violation(states(lse, {0, 0, 0, 0, 0, 0x1p60F}), a);
}

TEST(AttackJudge, grants_no_rounding_into_f32_where_the_bound_has_it_already) {
  for (const Format format : {Format::f32, Format::bf16}) {
    const MergeProblem problem = states({0, 1}, {1, 2}, MergeForm::sum, format);
    const Truth truth = narrow_truth(problem, Format::f32);
    Bound bound = compute_bound(problem, merge(Reduction::flat, MergeWeights::shifted));
    bound.o[0] =
        {};  // as if the form were exact: an o in f32 that is not the truth has a rounding that nothing pays for
    Output output{Tensor::dense(Format::f32, {1, 1}), Tensor::dense(Format::f32, {1})};
    output.o.set({0, 0}, truth.o[0].hi);
    output.lse.set({0}, truth.lse[0].hi);
    ASSERT_NE(output.o.at({0, 0}), truth.o[0].hi);
    const Violations tally = attack::judge(problem, output, truth, bound);
    EXPECT_EQ(tally.violations, format == Format::f32 ? 0 : 1) << tally.first;
  }
}

}  // namespace
}  // namespace flashproof
