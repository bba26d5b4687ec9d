// Which declarations have a meaning for which problem.
#include <string>

#include "reference/bound/declare/declaration.h"
#include "reference/model/model.h"
#include "reference/system/error.h"

namespace flashproof {

namespace {

constexpr double kHalfUlp = 0x1.01p-24;  // with a little room for evaluating the function in double

void require(bool holds, const std::string& what) {
  if (!holds) throw UsageError("declared arithmetic: " + what);
}

void check_errors(const Arithmetic& a) {
  require(a.exp_error >= kHalfUlp && a.exp_error < 0.5, "exp_error: 1.004 half an ulp (2^-24) .. 1/2");
  require(a.log_error >= kHalfUlp && a.log_error < 0.5, "log_error: 1.004 half an ulp (2^-24) .. 1/2");
  require(a.log_absolute >= 0 && a.log_absolute < 0.5, "log_absolute: 0 .. 1/2");
  require(a.reciprocal_error == 0 || (a.reciprocal_error >= kHalfUlp && a.reciprocal_error < 0.5),
          "reciprocal_error: 0 (rounded to nearest), or 1.004 half an ulp (2^-24) .. 1/2");
}

void check_merge_weights(Reduction reduction, MergeWeights weights, const char* name) {
  using enum MergeWeights;
  const std::string field(name);
  if (reduction == Reduction::flat) {
    require(weights == shifted || weights == unshifted || weights == division_free || weights == max_sum,
            field + ": flat takes shifted, unshifted, division_free or max_sum");
  } else {
    require(weights == stable || weights == one_sided || weights == running || weights == max_sum,
            field + ": pairwise takes stable, one_sided, running or max_sum");
  }
}

void check_combination(Reduction reduction, const char* name) {
  require(
      reduction == Reduction::flat || reduction == Reduction::pairwise_fold || reduction == Reduction::pairwise_tree,
      std::string(name) + ": flat, pairwise_fold or pairwise_tree");
}

void check(const SoftmaxProblem& /*problem*/, const Arithmetic& a) {
  using enum Reduction;
  const bool strided = a.reduction == strided_online;
  const bool alone = a.reduction == chunk_states;
  require(
      strided || alone || a.reduction == chunked_online || a.reduction == chunked_local || a.reduction == two_pass ||
          a.reduction == unshifted,
      "reduction: softmax takes strided_online, chunked_online, chunked_local, two_pass, chunk_states or unshifted");
  require(!alone || a.merge_weights == MergeWeights::max_sum || a.merge_weights == MergeWeights::shifted ||
              a.merge_weights == MergeWeights::unshifted,
          "merge_weights: chunk_states takes max_sum, shifted or unshifted");
  require(!alone || a.ending != Ending::division_free, "ending: chunk_states takes divide or multiply_reciprocal");
  require(a.lanes == 0 ? a.lanes_of != nullptr : is_power_of_two(a.lanes), "lanes: a power of two, or 0 with lanes_of");
  require(strided || (is_power_of_two(a.warps) && (a.lanes == 0 || a.lanes >= a.warps)),
          "warps: a power of two, at most lanes");
  require(a.vector_bytes == 0 || (is_power_of_two(a.vector_bytes) && a.vector_bytes <= 4096),
          "vector_bytes: 0, or a power of two, at most 4096");
  require(a.unit == ScoreUnit::natural, "unit: softmax takes natural");
  require(a.lse_form == LseForm::max_plus_log, "lse_form: softmax takes max_plus_log");
  require(is_power_of_two(a.deal) && a.deal <= 64, "deal: a power of two, at most 64");
}

void check(const MergeProblem& problem, const Arithmetic& a) {
  check_combination(a.reduction, "reduction");
  check_merge_weights(a.reduction, a.merge_weights, "merge_weights");
  require(!problem.has_l() || a.merge_weights == MergeWeights::max_sum, "merge_weights: states (m, l, O) take max_sum");
  require(problem.joins.empty() || a.reduction == Reduction::pairwise_tree, "reduction: joins take pairwise_tree");
  require(a.merge_weights != MergeWeights::division_free || a.ending == Ending::divide,
          "ending: division_free weights have none, legal: divide");
  require(a.reduction == Reduction::flat || a.ending == Ending::divide || a.merge_weights == MergeWeights::max_sum ||
              (a.merge_weights == MergeWeights::stable && a.ending == Ending::multiply_reciprocal),
          "ending: divide, multiply_reciprocal for stable and max_sum, division_free for max_sum");
  require(a.unit == ScoreUnit::natural, "unit: merge takes natural");
  require(a.lse_form == LseForm::max_plus_log, "lse_form: merge takes max_plus_log");
}

void check(const AttentionProblem& problem, const Arithmetic& a) {
  const std::string contradiction = attention_contradiction(a);
  require(contradiction.empty(), contradiction);
  require(problem.softcap == 0.0F || (a.tanh_error >= kHalfUlp && a.tanh_error < 0.5),
          "tanh_error: 1.004 half an ulp (2^-24) .. 1/2 where there is a softcap");
  if (a.unit == ScoreUnit::raw) {
    const std::string why = raw_scores_refused(problem);
    require(why.empty(), "unit: raw: " + why);
  }
}

}  // namespace

void require_runnable(const Problem& problem, const Arithmetic& arithmetic) {
  check_errors(arithmetic);
  const std::string visits = visits_contradiction(arithmetic);
  require(visits.empty(), visits);
  visit_forward([&](const auto& p) { check(p, arithmetic); }, problem);
}

}  // namespace flashproof
