#include "reference/bound/bound.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>

#include "reference/bound/alternatives.h"
#include "reference/bound/declare/declaration.h"
#include "reference/bound/problem_bounds.h"
#include "reference/system/error.h"

#ifdef __FAST_MATH__
#error "flashproof must not be built with -ffast-math: the bounds rely on IEEE arithmetic"
#endif

namespace flashproof {

namespace bound {

Bound zero_bound(std::int64_t rows, std::int64_t width) {
  Bound bound;
  bound.rows = rows;
  bound.width = width;
  bound.o.resize(rows * width);
  bound.lse.resize(rows);
  bound.range.assign(rows * width, std::numeric_limits<double>::infinity());
  bound.domain.resize(rows);
  bound.frame.resize(rows);
  bound.accumulator_outside.resize(rows * width);
  return bound;
}

}  // namespace bound

namespace {

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(std::string("declared arithmetic: ") + what);
}

bool power_of_two(int n) { return n > 0 && (n & (n - 1)) == 0; }

/// Neither a softmax nor a merge has these steps.
void require_no_scores(const Arithmetic& a) {
  require(a.unit == ScoreUnit::natural, "unit: natural, there are no scores to scale");
  require(a.lse_form == LseForm::max_plus_log, "lse_form: max_plus_log");
  require(a.weights.format == Format::f32 && a.weights.scale == 1 && !a.weights.summed, "weights: no P is stored");
  require(a.query == Format::f32 && !a.query_scaled && a.lazy_log2 == 0, "query, lazy_log2: attention alone has them");
  require(a.split.parts == 1, "split.parts: 1, attention alone is split");
}

void require_softmax(const Arithmetic& a) {
  const bool online = a.reduction == Reduction::strided_online || a.reduction == Reduction::chunked_online ||
                      a.reduction == Reduction::chunked_local;
  const bool alone = a.reduction == Reduction::chunk_states;
  require(
      online || alone || a.reduction == Reduction::two_pass || a.reduction == Reduction::unshifted,
      "reduction: softmax takes strided_online, chunked_online, chunked_local, two_pass, chunk_states or unshifted");
  require_no_scores(a);
  const std::string visits = visits_contradiction(a);
  require(visits.empty(), visits.c_str());
  require(a.visits != BlockOrder::any || (a.lanes > 0 && a.vector_bytes == 0),
          "lanes, vector_bytes: a number and 0 where visits is any");
  require(a.lse_format == Format::f32, "lse_format: f32, there are no joins");
  require(power_of_two(a.lanes) || (a.lanes == 0 && a.lanes_of != nullptr), "lanes: a power of two");
  require((a.reduction == Reduction::strided_online || power_of_two(a.warps)) && (a.lanes == 0 || a.warps <= a.lanes),
          "warps: a power of two, at most lanes");
  require(a.lane_joins >= 0 && a.lane_joins <= 4096 && (a.lane_joins == 0 || a.reduction != Reduction::strided_online),
          "lane_joins: 0..4096, and 0 for strided_online");
  require(a.vector_bytes == 0 || (power_of_two(a.vector_bytes) && a.vector_bytes <= 4096),
          "vector_bytes: 0, or a power of two, at most 4096");
  require(!alone || a.merge_weights == MergeWeights::max_sum || a.merge_weights == MergeWeights::shifted ||
              a.merge_weights == MergeWeights::unshifted,
          "merge_weights: chunk_states takes max_sum, shifted or unshifted");
  require(!alone || a.ending != Ending::division_free, "ending: chunk_states takes divide or multiply_reciprocal");
}

void require_merge(const Arithmetic& a) {
  const MergeWeights w = a.merge_weights;
  const bool flat = a.reduction == Reduction::flat;
  require(flat || a.reduction == Reduction::pairwise_fold || a.reduction == Reduction::pairwise_tree,
          "reduction: merge takes pairwise_fold, pairwise_tree or flat");
  require_no_scores(a);
  require(a.lanes == 0 && a.lanes_of == nullptr && a.warps == 0 && a.lane_joins == 0,
          "lanes, warps, lane_joins: 0, a merge sums in visiting order");
  const std::string visits = visits_contradiction(a);
  require(visits.empty(), visits.c_str());
  if (flat) {
    require(w == MergeWeights::shifted || w == MergeWeights::unshifted || w == MergeWeights::division_free ||
                w == MergeWeights::max_sum,
            "merge_weights: flat takes shifted, unshifted, division_free or max_sum");
    require(w != MergeWeights::division_free || a.ending == Ending::divide, "ending: division_free weights have none");
  } else {
    require(w == MergeWeights::stable || w == MergeWeights::one_sided || w == MergeWeights::running ||
                w == MergeWeights::max_sum,
            "merge_weights: pairwise takes stable, one_sided, running or max_sum");
    require(a.ending == Ending::divide || w == MergeWeights::max_sum ||
                (w == MergeWeights::stable && a.ending == Ending::multiply_reciprocal),
            "ending: divide, multiply_reciprocal for stable and max_sum, division_free for max_sum");
  }
  const bool has_lse = !flat && w != MergeWeights::max_sum;
  require(a.lse_format == Format::f32 || (has_lse && (a.lse_format == Format::f16 || a.lse_format == Format::bf16)),
          "lse_format: f32, or f16 or bf16 between joins of (o, lse)");
}

/// A declaration that these theorems do not cover is a mistake in the declaration, not a bound of 0.
void require_covered(ProblemKind problem, const Arithmetic& a) {
  require(a.exp_error >= 0 && a.exp_error < 0.5 && a.log_error >= 0 && a.log_error < 0.5,
          "exp_error and log_error in [0, 1/2)");
  require(a.log_absolute >= 0 && a.log_absolute < 1, "log_absolute in [0, 1)");
  require(a.reciprocal_error >= 0 && a.reciprocal_error < 0.5, "reciprocal_error in [0, 1/2)");
  if (problem == ProblemKind::softmax) return require_softmax(a);
  if (problem == ProblemKind::merge) return require_merge(a);
  bound::require_attention(a);
}

struct Evaluate {
  std::span<const Arithmetic> arithmetics;
  std::vector<Bound> operator()(const SoftmaxProblem& p) const { return each(p, bound::softmax_bound); }
  std::vector<Bound> operator()(const MergeProblem& p) const { return each(p, bound::merge_bound); }
  std::vector<Bound> operator()(const AttentionProblem& p) const { return bound::attention_bounds(p, arithmetics); }

 private:
  template <class P>
  std::vector<Bound> each(const P& p, Bound (*bound_by)(const P&, const Arithmetic&)) const {
    std::vector<Bound> bounds;
    for (const Arithmetic& one : arithmetics) bounds.push_back(bound_by(p, one));
    return bounds;
  }
};

/// A problem may have what the declaration gives no meaning to.
void require_derived(const Problem& problem, const Arithmetic& arithmetic) {
  const auto* attention = std::get_if<AttentionProblem>(&problem);
  if (attention != nullptr) bound::require_attention_problem(*attention, arithmetic);
}

struct Preconditions {
  const Arithmetic& arithmetic;
  std::int64_t row;
  using List = std::vector<Precondition>;
  List operator()(const SoftmaxProblem& p) const { return bound::softmax_preconditions(p, arithmetic, row); }
  List operator()(const MergeProblem& p) const { return bound::merge_preconditions(p, arithmetic, row); }
  List operator()(const AttentionProblem& p) const { return bound::attention_preconditions(p, arithmetic, row); }
};

}  // namespace

void require_declaration(ProblemKind problem, const Arithmetic& arithmetic) {
  for (const Arithmetic& alternative : alternatives(arithmetic, problem)) require_covered(problem, alternative);
}

std::vector<Bound> compute_bounds(const Problem& problem, std::span<const Arithmetic> arithmetics) {
  for (const Arithmetic& one : arithmetics) {
    require_covered(kind_of(problem), one);
    require_derived(problem, one);
  }
  std::vector<Bound> bounds = visit_forward(Evaluate{arithmetics}, problem);
  const auto is_number = [](const ElementBound& b) { return b.total() >= 0; };
  for (const Bound& bound : bounds) {
    if (!std::ranges::all_of(bound.o, is_number) || !std::ranges::all_of(bound.lse, is_number)) {
      throw std::logic_error("a bound is not a number: the evaluation in reference/bound is wrong for this case");
    }
  }
  return bounds;
}

Bound compute_bound(const Problem& problem, const Arithmetic& arithmetic) {
  require_declaration(kind_of(problem), arithmetic);
  std::vector<Bound> bounds = compute_bounds(problem, alternatives(arithmetic, problem));
  for (std::size_t i = 1; i < bounds.size(); ++i) bound::join(bounds[i], bounds.front());
  return std::move(bounds.front());
}

std::vector<Precondition> preconditions(const Problem& problem, const Arithmetic& arithmetic, std::int64_t row) {
  require_declaration(kind_of(problem), arithmetic);
  if (row < 0 || row >= output_shape(problem).rows) {
    throw UsageError("row = " + std::to_string(row) + ": legal range 0.." +
                     std::to_string(output_shape(problem).rows - 1));
  }
  std::vector<Precondition> all;
  for (const Arithmetic& alternative : alternatives(arithmetic, problem)) {
    require_derived(problem, alternative);
    std::ranges::copy(visit_forward(Preconditions{alternative, row}, problem), std::back_inserter(all));
  }
  return all;
}

}  // namespace flashproof
