// Declarations one step too optimistic: the bound computed from them must be violated by the arithmetic that is really
// done, on a constructed case, while the honest declaration holds there. A bound that passes both is too loose to find
// such a kernel; one that fails both is wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "reference/bound/declare/presets.h"
#include "reference/model/attack/attack_judge.h"
#include "reference/model/model.h"
#include "reference/oracle/oracle.h"

namespace flashproof {
namespace {

/// f32 throughout, 64 lanes, exponentials near the best there are.
Arithmetic plain() {
  return {.reduction = Reduction::chunk_deferred,
          .exp_error = 0x1p-23,
          .log_error = 0x1p-23,
          .lanes = 64,
          .dot = {.chains = 1}};
}

using Sequence = std::function<double(std::int64_t)>;

/// One query with d = 1, q = 1, scale 1: the scores are the keys.
AttentionProblem one_query(Format format, std::int64_t keys, std::int64_t chunk, const Sequence& score,
                           const Sequence& value) {
  AttentionProblem p;
  p.q = Tensor::dense(format, {1, 1, 1, 1});
  p.k = Tensor::dense(format, {1, 1, keys, 1});
  p.v = Tensor::dense(format, {1, 1, keys, 1});
  p.q.set({0, 0, 0, 0}, 1);
  for (std::int64_t j = 0; j < keys; ++j) {
    p.k.set({0, 0, j, 0}, score(j));
    p.v.set({0, 0, j, 0}, value(j));
  }
  p.plan = ChunkPlan::uniform(keys, chunk);
  return p;
}

constexpr int kRuns = 14;

/// What is done, against its own bound and against that of what was declared.
void expect_caught(const Problem& problem, const Arithmetic& declared, const Arithmetic& done) {
  const attack::Violations honest = attack::attack(problem, done, done, 1, kRuns);
  EXPECT_EQ(honest.refused, 0) << honest.refusal;
  EXPECT_EQ(honest.violations, 0) << honest.first;
  const attack::Violations optimistic = attack::attack(problem, done, declared, 1, kRuns);
  EXPECT_EQ(optimistic.refused, 0) << optimistic.refusal;
  EXPECT_GT(optimistic.violations, 0) << "best err/bound " << optimistic.worst.text();
  const attack::Violations kept = attack::attack(problem, declared, declared, 1, kRuns);
  EXPECT_EQ(kept.violations, 0) << kept.first;
}

TEST(NegativeControl, weights_declared_f32_and_stored_f16) {
  Arithmetic done = plain();
  done.weights.format = Format::f16;
  expect_caught(
      one_query(
          Format::f32, 64, 16, [](auto j) { return j == 0 ? 0 : -0.3; }, [](auto j) { return j == 0 ? 0.0 : 1.0; }),
      plain(), done);
}

TEST(NegativeControl, a_matrix_unit_declared_with_two_bits_more_than_it_has) {
  Arithmetic declared = plain();
  declared.values = {.chains = 1, .unit = kHopperF16};
  Arithmetic done = declared;
  done.values.unit.f = 23;
  // Equal weights 1. Beside the 1 every further product is just below 2^-23: lost whole with F = 23.
  expect_caught(one_query(
                    Format::bf16, 256, 256, [](auto) { return 0; }, [](auto j) { return j == 0 ? 1.0 : 0x1.fp-24; }),
                declared, done);
}

TEST(NegativeControl, accumulation_declared_promoted_and_done_in_thirteen_bits) {
  Arithmetic declared = plain();
  declared.values = {.chains = 1, .unit = kHopperWgmmaFp8, .promote = 32};
  Arithmetic done = declared;
  done.values.promote = 0;
  // One sign, so that what is cut off adds up.
  expect_caught(one_query(
                    Format::bf16, 8192, 8192, [](auto) { return 0; }, [](auto j) { return 1 + 0.125 * (j % 2); }),
                declared, done);
}

TEST(NegativeControl, half_the_rescales_declared) {
  Arithmetic coarse = plain();
  coarse.exp_error = 0x1p-12;
  coarse.lanes = 1;
  const auto ramp = [](std::int64_t j) { return 1e-3 * static_cast<double>(j); };
  const auto one = [](auto) { return 1; };
  const AttentionProblem done = one_query(Format::f32, 128, 1, ramp, one);
  const AttentionProblem declared = one_query(Format::f32, 128, 2, ramp, one);
  const Truth truth = narrow_truth(done, Format::f32);  // chunks do not change what is exact
  const Output output = run_model_unrounded(done, coarse, {.lean = Lean::up});
  EXPECT_EQ(attack::judge(done, output, truth, compute_bound(done, coarse)).violations, 0);
  EXPECT_GT(attack::judge(declared, output, truth, compute_bound(declared, coarse)).violations, 0);
}

/// A key of weight e^{−distance} carries the whole output.
AttentionProblem weak_key(double distance) {
  return one_query(
      Format::f32, 2, 2, [=](auto j) { return j == 0 ? 0 : -distance; }, [](auto j) { return j == 0 ? 0 : 0x1p100; });
}

TEST(NegativeControl, a_bound_without_its_underflow_part) {
  // Just above the subnormal range the bound is all relative; carried down by the weight it would be this.
  const auto bound_of = [](const AttentionProblem& p) { return compute_bound(p, plain()).o[0].total(); };
  const double relative = bound_of(weak_key(85)) / (std::exp(-85) * 0x1p100);
  ASSERT_LT(relative, 0x1p-15);
  const AttentionProblem problem = weak_key(100);
  Truth truth = narrow_truth(problem, Format::f32);
  Bound bound = compute_bound(problem, plain());
  const Output output = run_model_unrounded(problem, plain(), {.lean = Lean::down});
  EXPECT_EQ(attack::judge(problem, output, truth, bound).violations, 0);
  bound.o[0] = {.weights = relative * std::exp(-100) * 0x1p100};
  EXPECT_GT(attack::judge(problem, output, truth, bound).violations, 0);
}

TEST(NegativeControl, gradual_underflow_declared_and_flushed) {
  Arithmetic done = plain();
  done.underflow = Underflow::flush;
  expect_caught(weak_key(90), plain(), done);
}

Arithmetic in_parts(Reduction combine, MergeWeights weights) {
  Arithmetic a = plain();
  a.split = {.parts = 4, .combine = combine, .weights = weights};
  return a;
}
AttentionProblem opposite_parts(double offset) {
  return one_query(
      Format::f32, 64, 16, [=](auto j) { return offset + 0.01 * static_cast<double>(j); },
      [](auto j) { return j < 32 ? 1 : -1; });
}

TEST(NegativeControl, partial_lse_declared_f32_and_stored_bf16) {
  const Arithmetic declared = in_parts(Reduction::flat, MergeWeights::shifted);
  Arithmetic done = declared;
  done.split.partial_lse = Format::bf16;
  expect_caught(opposite_parts(20), declared, done);
}

TEST(NegativeControl, partial_o_declared_f32_and_stored_f16) {
  const Arithmetic declared = in_parts(Reduction::pairwise_tree, MergeWeights::stable);
  Arithmetic done = declared;
  done.split.partial_o = Format::f16;
  expect_caught(one_query(Format::f32, 64, 16, [](auto) { return 0; }, [](auto) { return 1.0003; }), declared, done);
}

TEST(NegativeControl, a_division_declared_and_none_done) {
  Arithmetic done = plain();
  done.ending = Ending::division_free;
  expect_caught(
      one_query(
          Format::f32, 16, 4, [](auto j) { return 1e4 + 0.1 * static_cast<double>(j); }, [](auto) { return 1; }),
      plain(), done);
}

TEST(NegativeControl, subtract_then_scale_declared_and_the_fused_form_done) {
  // The maximum rises from chunk to chunk at 10^5, where f·ĉ is rounded by 4e-3 and e^{x − f} follows it. A softmax, because
  // its scores are exact: attention's are not, and their error is of this size.
  SoftmaxProblem p;
  p.x = Tensor::dense(Format::f32, {1, 32});
  for (std::int64_t j = 0; j < 32; ++j) p.x.set({0, j}, 1e5 + 0.0625 * static_cast<double>(j));
  p.plan = ChunkPlan::uniform(32, 4);
  const Arithmetic declared{.reduction = Reduction::chunked_online,
                            .exponent = Exponent::subtract_then_scale,
                            .exp_error = 0x1p-23,
                            .log_error = 0x1p-23,
                            .lanes = 4,
                            .warps = 1};
  Arithmetic done = declared;
  done.exponent = Exponent::fused;
  expect_caught(p, declared, done);
}

TEST(NegativeControl, eight_octaves_of_laziness_with_saturating_weights) {
  // FlashAttention-4's first fp8 form: scale 256, weights up to 2^8 beyond the frame, clipped at 448 (its issue 2577).
  Arithmetic declared = presets::kFa3Sm90Fp8Promoted;
  declared.underflow = Underflow::gradual;
  Arithmetic done = declared;
  done.lazy_log2 = 8;
  const AttentionProblem problem = one_query(
      Format::f16, 64, 16, [](auto j) { return std::floor(static_cast<double>(j) / 16); }, [](auto) { return 1; });
  const attack::Violations found = attack::attack(problem, done, declared, 1, kRuns);
  EXPECT_EQ(found.refused, 0) << found.refusal;
  EXPECT_GT(found.violations, 0);
}

/// States with opposite outputs and |lse| = 10^5, where an lse is rounded by 4e-3.
MergeProblem opposite_states(std::int64_t states) {
  MergeProblem p;
  p.o = Tensor::dense(Format::f32, {states, 1, 1});
  p.lse = Tensor::dense(Format::f32, {states, 1});
  for (std::int64_t c = 0; c < states; ++c) {
    p.o.set({c, 0, 0}, c % 2 == 0 ? 1 : -1);
    p.lse.set({c, 0}, 1e5);
    p.order.push_back(static_cast<std::int32_t>(c));
  }
  return p;
}
Arithmetic merging(Reduction reduction, MergeWeights weights) {
  return {.reduction = reduction, .exp_error = 0x1p-23, .log_error = 0x1p-23, .merge_weights = weights};
}

TEST(NegativeControl, a_merge_declared_flat_and_folded) {
  expect_caught(opposite_states(64), merging(Reduction::flat, MergeWeights::shifted),
                merging(Reduction::pairwise_fold, MergeWeights::stable));
}

TEST(NegativeControl, unnormalised_states_declared_and_lse_values_folded) {
  expect_caught(opposite_states(64), merging(Reduction::pairwise_fold, MergeWeights::max_sum),
                merging(Reduction::pairwise_fold, MergeWeights::stable));
}

TEST(NegativeControl, lse_between_joins_declared_f32_and_stored_bf16) {
  const Arithmetic declared = merging(Reduction::pairwise_tree, MergeWeights::stable);
  Arithmetic done = declared;
  done.lse_format = Format::bf16;
  MergeProblem p = opposite_states(5);
  for (std::int64_t c = 0; c < 5; ++c) p.lse.set({c, 0}, 3);
  expect_caught(p, declared, done);
}

TEST(NegativeControl, a_softmax_declared_divided_and_ended_without_a_division) {
  SoftmaxProblem p;
  p.x = Tensor::dense(Format::f32, {1, 32});
  for (std::int64_t j = 0; j < 32; ++j) p.x.set({0, j}, 1e4 + 0.1 * static_cast<double>(j));
  p.plan = ChunkPlan::uniform(32, 8);
  Arithmetic declared{
      .reduction = Reduction::two_pass, .exp_error = 0x1p-23, .log_error = 0x1p-23, .lanes = 32, .warps = 1};
  Arithmetic done = declared;
  done.ending = Ending::division_free;
  expect_caught(p, declared, done);
}

}  // namespace
}  // namespace flashproof
