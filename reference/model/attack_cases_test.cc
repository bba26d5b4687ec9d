// The smallest case of every violation that the attack has found, so that none comes back unseen.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "reference/bound/presets.h"
#include "reference/model/attack_judge.h"
#include "reference/oracle/oracle.h"

namespace flashproof {
namespace {

using attack::Tally;

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

Tally of(const Problem& problem, const Arithmetic& a) { return attack::attack(problem, a, a, 1, 14); }

void expect_within(const Problem& problem, const Arithmetic& a) {
  const Tally tally = of(problem, a);
  EXPECT_EQ(tally.violations, 0) << tally.first;
  EXPECT_EQ(tally.refused, 0) << tally.refusal;
  EXPECT_GT(tally.elements, 0) << "nothing was judged";
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
    const Tally tally = attack::judge(problem, output, truth, bound);
    EXPECT_EQ(tally.violations, format == Format::f32 ? 0 : 1) << tally.first;
  }
}

}  // namespace
}  // namespace flashproof
