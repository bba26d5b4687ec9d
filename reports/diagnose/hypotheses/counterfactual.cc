#include "reports/diagnose/hypotheses/counterfactual.h"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "properties/laws/trial.h"
#include "reference/bound/backward/bound.h"
#include "reference/bound/bound.h"
#include "reference/problem/special_values.h"
#include "reference/system/error.h"
#include "reports/diagnose/hypotheses/set.h"

namespace flashproof {
namespace {

bool is_attention(const Problem& p) { return std::holds_alternative<AttentionProblem>(p); }
bool is_softmax(const Problem& p) { return std::holds_alternative<SoftmaxProblem>(p); }
bool is_merge(const Problem& p) { return std::holds_alternative<MergeProblem>(p); }

bool narrow(Format format) { return unit_roundoff(format) > unit_roundoff(Format::f32); }

bool half_exp(Problem&, Arithmetic& a) { return set(a.exp_error, a.exp_error / 2); }
bool half_log(Problem&, Arithmetic& a) {
  return set(a.log_error, a.log_error / 2) | set(a.log_absolute, a.log_absolute / 2);
}

bool one_exponential(Problem&, Arithmetic& a) {
  return a.exponent == Exponent::scaled_exp2 && set(a.exponent, Exponent::accurate);
}
bool subtract_first(Problem&, Arithmetic& a) {
  const bool fused = a.exponent == Exponent::fused || a.exponent == Exponent::unfused;
  return fused && set(a.exponent, Exponent::subtract_then_scale);
}

bool rounded_scores(Problem& p, Arithmetic& a) { return is_attention(p) && set(a.dot.unit, BlockFma{}); }
bool more_score_chains(Problem& p, Arithmetic& a) {
  if (!is_attention(p) || a.dot.unit.k > 0) return false;
  a.dot.chains *= 2;
  return true;
}
bool exact_score_inputs(Problem&, Arithmetic& a) { return set(a.dot.tf32_inputs, false); }
bool unrounded_query(Problem&, Arithmetic& a) { return set(a.query, Format::f32); }

bool unrounded_p(Problem&, Arithmetic& a) {
  if (!set(a.weights.format, Format::f32)) return false;
  a.weights = {};
  return true;
}
bool scaled_p(Problem&, Arithmetic& a) {
  const bool fp8 = a.weights.format == Format::e4m3fn || a.weights.format == Format::e5m2;
  return fp8 && a.weights.scale == 1 && set(a.weights.scale, 256.0);
}
bool rounded_values(Problem& p, Arithmetic& a) { return is_attention(p) && set(a.values.unit, BlockFma{}); }
bool promoted_values(Problem& p, Arithmetic& a) {
  return is_attention(p) && a.values.unit.k > 0 && a.values.promote == 0 && set(a.values.promote, 128);
}
bool more_value_chains(Problem& p, Arithmetic& a) {
  if (!is_attention(p) || a.values.unit.k > 0) return false;
  a.values.chains *= 2;
  return true;
}
bool exact_value_inputs(Problem&, Arithmetic& a) { return set(a.values.tf32_inputs, false); }

/// False where the declaration names no number of lanes for this problem.
bool fix_lanes(const Problem& p, Arithmetic& a) {
  if (a.lanes == 0 && a.lanes_of != nullptr && is_softmax(p))
    a.lanes = a.lanes_of(std::get<SoftmaxProblem>(p).x.shape[1]);
  return a.lanes > 0;
}
bool double_lanes(Problem& p, Arithmetic& a) {
  if (is_merge(p) || !fix_lanes(p, a)) return false;
  a.lanes *= 2;
  return true;
}

bool deferred(Problem&, Arithmetic& a) {
  using enum Reduction;
  if (a.reduction != chunk_normalized && a.reduction != chunk_recap && a.reduction != lse_running) return false;
  a.reduction = chunk_deferred;
  a.separated_exponent = a.per_key = false;
  a.ending = Ending::divide;
  return true;
}
bool maximum_first(Problem& p, Arithmetic& a) {
  if (!is_softmax(p) || a.reduction == Reduction::two_pass || !fix_lanes(p, a)) return false;
  a.reduction = Reduction::two_pass;
  a.warps = std::max(a.warps, 1);
  return true;
}
bool one_chunk(Problem& p, Arithmetic&) {
  const auto join = [](ChunkPlan& plan) {
    if (plan.chunks() < 2) return false;
    const std::int64_t length = plan.boundary.back();
    plan = ChunkPlan::uniform(length, length);
    return true;
  };
  if (auto* softmax = std::get_if<SoftmaxProblem>(&p)) return join(softmax->plan);
  if (auto* attention = std::get_if<AttentionProblem>(&p)) return join(attention->plan);
  return false;
}
bool prompt_frame(Problem&, Arithmetic& a) { return set(a.lazy_log2, 0); }

bool tree(Problem& p, Arithmetic& a) {
  return is_merge(p) && a.reduction == Reduction::pairwise_fold && set(a.reduction, Reduction::pairwise_tree);
}
bool flat(Problem& p, Arithmetic& a) {
  if (!is_merge(p) || a.reduction == Reduction::flat) return false;
  a.reduction = Reduction::flat;
  a.merge_weights = MergeWeights::shifted;
  return true;
}
bool stable_weights(Problem& p, Arithmetic& a) {
  const bool other = a.merge_weights == MergeWeights::one_sided || a.merge_weights == MergeWeights::running;
  return is_merge(p) && other && set(a.merge_weights, MergeWeights::stable);
}
bool unrounded_lse(Problem&, Arithmetic& a) {
  return set(a.lse_format, Format::f32) | set(a.split.partial_lse, Format::f32);
}

bool unsplit(Problem&, Arithmetic& a) {
  if (a.split.parts <= 1) return false;
  a.split = {};
  return true;
}
bool flat_split(Problem&, Arithmetic& a) {
  return a.split.parts > 1 && a.split.combine != Reduction::flat && set(a.split.combine, Reduction::flat);
}
bool unrounded_parts(Problem&, Arithmetic& a) {
  return narrow(a.split.partial_o) && set(a.split.partial_o, Format::f32);
}

bool divide(Problem&, Arithmetic& a) { return set(a.ending, Ending::divide); }
bool exact_reciprocal(Problem&, Arithmetic& a) { return set(a.reciprocal_error, 0.0); }
bool direct_lse(Problem&, Arithmetic& a) { return set(a.lse_form, LseForm::max_plus_log); }
bool gradual(Problem&, Arithmetic& a) { return set(a.underflow, Underflow::gradual); }

constexpr Change kChanges[] = {
    {"an exponential twice as accurate", half_exp},
    {"a logarithm twice as accurate", half_log},
    {"e^x of the difference itself, not exp2 of its rounded product with log2 e", one_exponential},
    {"the maximum subtracted before the scale, not a fused exponent", subtract_first},
    {"scores summed in f32 to nearest, not in a truncating matrix unit", rounded_scores},
    {"twice as many chains in each score", more_score_chains},
    {"scores of inputs that are not cut to tf32", exact_score_inputs},
    {"q scaled in f32, not rounded to a narrow format", unrounded_query},
    {"P kept in f32", unrounded_p},
    {"P multiplied by 256 before it is rounded", scaled_p},
    {"P v summed in f32 to nearest, not in a truncating matrix unit", rounded_values},
    {"the accumulator of P v moved to f32 every 128 keys", promoted_values},
    {"twice as many chains in P v", more_value_chains},
    {"P v of inputs that are not cut to tf32", exact_value_inputs},
    {"twice as many partial sums of the denominator", double_lanes},
    {"one normalisation at the end, not one per chunk", deferred},
    {"the row's maximum found before the first exponential", maximum_first},
    {"all keys in one chunk", one_chunk},
    {"a frame that follows every rise of the maximum", prompt_frame},
    {"states joined by a balanced tree, not one after the other", tree},
    {"all states combined at once, not two at a time", flat},
    {"both weights of a join from one exponential of -|a - b|", stable_weights},
    {"lse kept in f32 between joins", unrounded_lse},
    {"one worker per row, no split", unsplit},
    {"the workers' states combined at once", flat_split},
    {"the workers' outputs kept in f32", unrounded_parts},
    {"a division at the end", divide},
    {"a correctly rounded reciprocal", exact_reciprocal},
    {"lse = max + log, nothing scaled back", direct_lse},
    {"subnormal numbers kept, not flushed", gradual},
};

bool half_backward_exp(BackwardArithmetic& a) { return set(a.exp_error, a.exp_error / 2); }
bool one_backward_exponential(BackwardArithmetic& a) {
  return a.exponent == Exponent::scaled_exp2 && set(a.exponent, Exponent::accurate);
}
bool subtract_lse_first(BackwardArithmetic& a) {
  if (a.exponent != Exponent::fused && a.exponent != Exponent::unfused) return false;
  a.exponent = Exponent::accurate;
  a.unit = ScoreUnit::natural;
  return true;
}
bool rounded_sums(BackwardArithmetic& a) {
  bool changed = false;
  for (Products* p : {&a.dot, &a.products, &a.row_sum, &a.dq.products, &a.dk.products, &a.dv.products}) {
    changed |= set(p->unit, BlockFma{});
  }
  return changed;
}
bool more_chains(BackwardArithmetic& a) {
  bool changed = false;
  for (Products* p : {&a.dot, &a.products, &a.row_sum, &a.dq.products, &a.dk.products, &a.dv.products}) {
    if (p->unit.k > 0) continue;
    p->chains *= 2;
    changed = true;
  }
  return changed;
}
bool unrounded_backward_p(BackwardArithmetic& a) { return set(a.p, Format::f32); }
bool unrounded_ds(BackwardArithmetic& a) { return set(a.ds, Format::f32); }
bool unrounded_dp(BackwardArithmetic& a) { return set(a.dp, Format::f32); }
bool unrounded_partials(BackwardArithmetic& a) {
  return set(a.dq.partial, Format::f32) | set(a.dk.partial, Format::f32) | set(a.dv.partial, Format::f32);
}
bool scale_last(BackwardArithmetic& a) { return set(a.scale, GradientScale::output) | set(a.factors_scaled, false); }
bool difference_first(BackwardArithmetic& a) { return set(a.apart, false); }
bool delta_of_output(BackwardArithmetic& a) { return set(a.delta, DeltaSum::output); }
bool backward_gradual(BackwardArithmetic& a) { return set(a.underflow, Underflow::gradual); }

constexpr BackwardChange kBackwardChanges[] = {
    {"an exponential twice as accurate", half_backward_exp},
    {"e^x of the difference itself, not exp2 of its rounded product with log2 e", one_backward_exponential},
    {"lse subtracted from a natural score, not a fused exponent", subtract_lse_first},
    {"sums in f32 to nearest, not in a truncating matrix unit", rounded_sums},
    {"twice as many chains in each sum of products", more_chains},
    {"P kept in f32", unrounded_backward_p},
    {"dS kept in f32", unrounded_ds},
    {"dP kept in f32", unrounded_dp},
    {"sums of one head kept in f32 until all are added", unrounded_partials},
    {"the scale multiplied once, at the end", scale_last},
    {"P (dP - D), not P dP - P D", difference_first},
    {"D from dO and o, not from the weights", delta_of_output},
    {"subnormal numbers kept, not flushed", backward_gradual},
};

/// What `bound` gives; +inf where the theorems do not cover the declaration.
template <class Evaluate>
double total_of(Part part, std::int64_t index, Evaluate bound) {
  try {
    return bound()[part][static_cast<std::size_t>(index)].total();
  } catch (const std::invalid_argument&) {
  } catch (const UsageError&) {
  }
  return kInfinity;
}

constexpr double kWorthSaying = 1.05;

/// Those of `changes` that lower the bound; `after` gives the changed one, or nothing where the change is none.
template <class Changes, class After>
std::vector<Improvement> those_that_lower(const Changes& changes, double before, int* tried, After after) {
  std::vector<Improvement> list;
  int evaluated = 0;
  for (const auto& change : changes) {
    const std::optional<double> total = after(change);
    if (!total) continue;
    ++evaluated;
    if (*total * kWorthSaying <= before && *total < before) list.push_back({change.text, before / *total});
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const Improvement& a, const Improvement& b) { return a.factor > b.factor; });
  if (tried != nullptr) *tried = evaluated;
  return list;
}

std::vector<Improvement> of_gradient(const Case& subject, const Kernel& kernel, Part part, std::int64_t index,
                                     double before, int* tried) {
  const auto& problem = std::get<BackwardProblem>(subject.problem);
  CaseTruth truth(subject);
  const ForwardErrors& forward = truth.forward();
  return those_that_lower(kBackwardChanges, before, tried, [&](const BackwardChange& change) -> std::optional<double> {
    std::vector<BackwardArithmetic> changed = kernel.backward_for(format_of(subject.problem));
    bool any = false;
    for (BackwardArithmetic& a : changed) any = change.apply(a) || any;
    if (!any) return std::nullopt;
    return total_of(part, index, [&] { return backward_bound(problem, changed, forward); });
  });
}

}  // namespace

std::span<const Change> changes() { return kChanges; }
std::span<const BackwardChange> backward_changes() { return kBackwardChanges; }

std::vector<Improvement> improvements(const Case& subject, const Kernel& kernel, Part part, std::int64_t index,
                                      double before, int* tried) {
  if (kernel.problem == ProblemKind::backward) return of_gradient(subject, kernel, part, index, before, tried);
  return those_that_lower(kChanges, before, tried, [&](const Change& change) -> std::optional<double> {
    Problem problem = subject.problem;
    Arithmetic changed = kernel.arithmetic;
    if (!change.apply(problem, changed)) return std::nullopt;
    return total_of(part, index, [&] { return compute_bound(problem, changed); });
  });
}

}  // namespace flashproof
