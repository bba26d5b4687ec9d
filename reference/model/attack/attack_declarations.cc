#include <algorithm>
#include <bit>
#include <cmath>

#include "reference/bound/declare/declaration.h"
#include "reference/model/attack/attack_draws.h"
#include "reference/model/attack/attack_problems.h"

namespace flashproof::attack {

namespace {

Products products(Random& random, int chains) {
  if (random.chance(0.5)) return {.chains = random.chance(0.5) ? chains : static_cast<int>(random.integer(1, 5))};
  Products result{.unit = any_of(random, {kVoltaF16, kAmpereF16, kHopperF16, kHopperTf32, kHopperWgmmaFp8})};
  if (random.chance(0.3)) result.promote = any_of(random, {8, 16, 32, 128});
  result.tf32_inputs = random.chance(0.15);
  return result;
}

MergeWeights combination_weights(Random& random, Reduction reduction) {
  using enum MergeWeights;
  if (reduction == Reduction::flat) return any_of(random, {shifted, unshifted, division_free, max_sum});
  return any_of(random, {stable, stable, one_sided, running, max_sum});
}

void declare_softmax(Random& random, Arithmetic& a) {
  using enum Reduction;
  a.reduction = any_of(random, {strided_online, chunked_online, chunked_local, two_pass, chunk_states, unshifted});
  a.lanes = 1 << random.integer(0, 6);
  a.deal = 1 << random.integer(0, 3);
  a.warps = 1 << random.integer(0, std::min<std::int64_t>(2, std::countr_zero(static_cast<unsigned>(a.lanes))));
  if (random.chance(0.3)) a.vector_bytes = 1 << random.integer(1, 4);
  if (a.reduction != chunk_states) return;
  a.merge_weights = any_of(random, {MergeWeights::max_sum, MergeWeights::shifted, MergeWeights::unshifted});
  if (a.ending == Ending::division_free) a.ending = Ending::divide;
}

void declare_merge(Random& random, const MergeProblem& p, Arithmetic& a) {
  using enum Reduction;
  const bool sums = p.has_l();
  a.reduction = p.joins.empty() ? any_of(random, {flat, pairwise_fold, pairwise_tree}) : pairwise_tree;
  a.merge_weights = sums ? MergeWeights::max_sum : combination_weights(random, a.reduction);
  const bool by_sums = a.merge_weights == MergeWeights::max_sum;
  if (a.reduction != flat && !by_sums) {
    if (a.merge_weights != MergeWeights::stable || a.ending == Ending::division_free) a.ending = Ending::divide;
    if (random.chance(0.2)) a.lse_format = any_of(random, {Format::f16, Format::bf16});
  }
  if (a.merge_weights == MergeWeights::division_free) a.ending = Ending::divide;
}

void subtract_first(Random& random, Arithmetic& a) {
  a.unit = ScoreUnit::natural;
  a.exponent = any_of(random, {Exponent::accurate, Exponent::scaled_exp2});
  a.lse_form = LseForm::max_plus_log;
}

/// e^{−m} by itself: f32 weights, fma chains, a division each.
void separate(Random& random, Arithmetic& a) {
  subtract_first(random, a);
  a.separated_exponent = true;
  a.per_key = random.chance(0.4);
  a.ending = Ending::divide;
  a.weights = {};
  a.values = {.chains = a.per_key ? 1 : a.values.chains};
  if (a.per_key) a.lanes = 1;
}

void declare_attention(Random& random, const AttentionProblem& p, Arithmetic& a) {
  using enum Reduction;
  a.reduction = any_of(random, {chunk_deferred, chunk_deferred, chunk_normalized, chunk_normalized, chunk_recap,
                                lse_running, row_resident});
  const bool deferred = a.reduction == chunk_deferred;
  a.lanes = 1 << random.integer(0, 5);
  a.deal = 1 << random.integer(0, 3);
  a.dot = products(random, 4);
  a.values = products(random, 1);
  a.weights.format = any_of(random, {Format::f32, Format::f32, Format::f16, Format::bf16, Format::e4m3fn});
  a.weights.scale = random.chance(0.3) ? 256 : 1;
  a.weights.summed = a.reduction != row_resident && random.chance(0.3);
  const bool raw = raw_scores_refused(p).empty();
  if (raw && random.chance(0.4)) {
    a.unit = ScoreUnit::raw;
    a.exponent = any_of(random, {Exponent::fused, Exponent::unfused, Exponent::subtract_then_scale});
    a.lse_form = random.chance(0.5) ? LseForm::scaled_max_plus_log : LseForm::base2;
  } else {
    a.query_scaled = random.chance(0.2);
    if (a.query_scaled && random.chance(0.5)) a.query = p.q.format;
    if (random.chance(0.3)) a.lse_form = LseForm::base2;
  }
  if (!deferred && a.ending == Ending::division_free) a.ending = Ending::divide;
  a.tanh_error = 0x1p-11;
  if (a.reduction == lse_running) {
    subtract_first(random, a);
    a.ending = Ending::division_free;
    return;
  }
  if (a.reduction == chunk_normalized && random.chance(0.5)) return separate(random, a);
  if (deferred && random.chance(0.25)) a.lazy_log2 = static_cast<int>(random.integer(1, 8));
  a.running_lanes = deferred && random.chance(0.5);
  if (a.reduction == row_resident || random.chance(0.7)) return;
  a.split.parts = static_cast<int>(random.integer(2, 5));
  a.split.combine = any_of(random, {flat, pairwise_fold, pairwise_tree});
  do {
    a.split.weights = combination_weights(random, a.split.combine);
  } while ((a.split.weights == MergeWeights::max_sum && !deferred) || a.split.weights == MergeWeights::unshifted);
  if (random.chance(0.3)) a.split.partial_o = any_of(random, {Format::f16, Format::bf16});
  if (random.chance(0.2) && a.split.weights != MergeWeights::max_sum) a.split.partial_lse = Format::bf16;
}

}  // namespace

bool refused(const Problem& problem, const Arithmetic& arithmetic) {
  const auto* attention = std::get_if<AttentionProblem>(&problem);
  return attention != nullptr && arithmetic.unit == ScoreUnit::raw && !raw_scores_refused(*attention).empty();
}

Arithmetic declaration(Random& random, const Problem& problem) {
  Arithmetic a{.reduction = Reduction::flat};
  using enum Exponent;
  a.exponent = any_of(random, {accurate, scaled_exp2, fused, unfused, subtract_then_scale});
  a.ending = any_of(random, {Ending::divide, Ending::multiply_reciprocal, Ending::division_free});
  a.underflow = random.chance(0.3) ? Underflow::flush : Underflow::gradual;
  const bool coarse = random.chance(0.33);
  a.exp_error = coarse ? std::exp2(-random.uniform(4, 14)) : 0x1p-23;
  a.log_error = coarse ? std::exp2(-random.uniform(4, 14)) : 0x1p-23;
  a.log_absolute = random.chance(0.3) ? a.log_error : 0;
  a.reciprocal_error = random.chance(0.5) ? a.exp_error : 0;
  switch (kind_of(problem)) {
    case ProblemKind::softmax:
      declare_softmax(random, a);
      break;
    case ProblemKind::merge:
      declare_merge(random, std::get<MergeProblem>(problem), a);
      break;
    case ProblemKind::attention:
      declare_attention(random, std::get<AttentionProblem>(problem), a);
      break;
    case ProblemKind::backward:
      throw std::logic_error("a gradient where a forward problem is required");
  }
  return a;
}

}  // namespace flashproof::attack
