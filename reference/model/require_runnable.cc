// Which declarations have a meaning for which problem.
#include <string>

#include "reference/model/model.h"
#include "reference/problem/error.h"

namespace flashproof {

namespace {

constexpr double kHalfUlp = 0x1.01p-24;  // with a little room for evaluating the function in double

void require(bool holds, const std::string& what) {
  if (!holds) throw UsageError("declared arithmetic: " + what);
}
bool power_of_two(int n) { return n > 0 && (n & (n - 1)) == 0; }

void check_products(const char* name, const Products& products) {
  const BlockFma& unit = products.unit;
  const std::string field(name);
  require(products.chains > 0 && products.chains <= 4096, field + ".chains: 1..4096");
  require(unit.k >= 0 && unit.k <= 64, field + ".unit.k: 0 (none)..64");
  require(unit.k == 0 || (unit.f >= 1 && unit.f <= 46), field + ".unit.f: 1..46");
  require(unit.k == 0 || (unit.ofb >= 1 && unit.ofb <= 23), field + ".unit.ofb: 1..23");
  require(products.promote >= 0 && (products.promote == 0 || unit.k > 0), field + ".promote: 0, or more with a unit");
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
  require(strided || alone || a.reduction == chunked_online || a.reduction == two_pass || a.reduction == unshifted,
          "reduction: softmax takes strided_online, chunked_online, two_pass, chunk_states or unshifted");
  require(!alone || a.merge_weights == MergeWeights::max_sum || a.merge_weights == MergeWeights::shifted ||
              a.merge_weights == MergeWeights::unshifted,
          "merge_weights: chunk_states takes max_sum, shifted or unshifted");
  require(!alone || a.ending != Ending::division_free, "ending: chunk_states takes divide or multiply_reciprocal");
  require(a.lanes == 0 ? a.lanes_of != nullptr : power_of_two(a.lanes), "lanes: a power of two, or 0 with lanes_of");
  require(strided || (power_of_two(a.warps) && a.lanes >= a.warps), "warps: a power of two, at most lanes");
  require(a.unit == ScoreUnit::natural, "unit: softmax takes natural");
  require(a.lse_form == LseForm::max_plus_log, "lse_form: softmax takes max_plus_log");
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

void check_unit(const AttentionProblem& problem, const Arithmetic& a) {
  if (a.unit == ScoreUnit::natural) {
    require(a.lse_form != LseForm::scaled_max_plus_log, "lse_form: natural scores take max_plus_log or base2");
    return;
  }
  require(a.exponent != Exponent::accurate && a.exponent != Exponent::scaled_exp2,
          "unit: raw takes fused, unfused or subtract_then_scale");
  require(!a.query_scaled && a.query == Format::f32, "unit: raw takes queries that are not scaled");
  require(a.lse_form != LseForm::max_plus_log, "lse_form: raw scores take scaled_max_plus_log or base2");
  require(problem.scale > 0, "unit: raw takes a scale above 0");
}

void check_split(const Arithmetic& a) {
  const Split& split = a.split;
  require(split.parts >= 1 && split.parts <= 65536, "split.parts: 1..65536");
  if (split.parts == 1) return;
  check_combination(split.combine, "split.combine");
  check_merge_weights(split.combine, split.weights, "split.weights");
  require(split.weights != MergeWeights::unshifted, "split.weights: lse values of parts take a maximum, not unshifted");
  require(a.reduction != Reduction::row_resident, "split.parts: row_resident takes 1");
  if (split.weights == MergeWeights::max_sum) {
    require(a.reduction == Reduction::chunk_deferred, "split.weights: max_sum takes chunk_deferred");
    require(split.partial_lse == Format::f32, "split.partial_lse: max_sum has none, legal: f32");
  }
}

void check(const AttentionProblem& problem, const Arithmetic& a) {
  using enum Reduction;
  const bool deferred = a.reduction == chunk_deferred;
  require(deferred || a.reduction == chunk_normalized || a.reduction == row_resident,
          "reduction: attention takes chunk_deferred, chunk_normalized or row_resident");
  require(power_of_two(a.lanes), "lanes: a power of two");
  require(deferred || a.ending != Ending::division_free, "ending: division_free takes chunk_deferred");
  require(deferred || a.lazy_log2 == 0, "lazy_log2: 0 but for chunk_deferred");
  require(deferred || !a.running_lanes, "running_lanes: false but for chunk_deferred");
  require(a.lazy_log2 >= 0 && a.lazy_log2 < 64, "lazy_log2: 0..63");
  require(a.reduction != row_resident || !a.weights.summed, "weights.summed: false for row_resident");
  require(a.weights.scale >= 0x1p-60 && a.weights.scale <= 0x1p60 &&
              round_to(Format::f32, a.weights.scale) == a.weights.scale &&
              (encode(Format::f32, a.weights.scale) & 0x7fffff) == 0,
          "weights.scale: a power of two, 2^-60..2^60");
  require(problem.softcap == 0.0F || (a.tanh_error >= kHalfUlp && a.tanh_error < 0.5),
          "tanh_error: 1.004 half an ulp (2^-24) .. 1/2 where there is a softcap");
  check_products("dot", a.dot);
  check_products("values", a.values);
  check_unit(problem, a);
  check_split(a);
}

}  // namespace

void require_runnable(const Problem& problem, const Arithmetic& arithmetic) {
  check_errors(arithmetic);
  std::visit([&](const auto& p) { check(p, arithmetic); }, problem);
}

}  // namespace flashproof
