// Merges, row by row: which states take part, what their combination costs (merge_paths.h), the bound of every column.
// States are exact, whatever made them. Derivation: README.md.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "reference/bound/costs.h"
#include "reference/bound/merge/merge_paths.h"
#include "reference/bound/merge/merge_tree.h"
#include "reference/bound/problem_bounds.h"
#include "reference/problem/special_values.h"
#include "reference/system/error.h"

namespace flashproof::bound {

namespace {

void require_problem(const MergeProblem& problem, const Arithmetic& arithmetic) {
  if (problem.has_l() && arithmetic.merge_weights != MergeWeights::max_sum) {
    throw UsageError("l: only an arithmetic with merge_weights max_sum combines un-normalised states, legal: no l");
  }
  if (!problem.joins.empty() && arithmetic.reduction == Reduction::pairwise_fold) {
    throw UsageError("joins: an arithmetic with reduction pairwise_fold joins from left to right, legal: no joins");
  }
}

struct Row {
  std::vector<MergeState> states;   // those that are not empty, in visiting order; none where the answer is symbolic
  std::vector<std::int64_t> index;  // of each in the problem
  std::vector<Join> joins;
};

Row row_of(const MergeProblem& problem, const std::vector<Join>& joins, std::int64_t row) {
  Row result;
  std::vector<bool> present;
  for (const std::int32_t index : problem.order) {
    const double lse = problem.lse.at({index, row});
    const double sum = problem.has_l() && lse != -kInfinity ? problem.l.at({index, row}) : 1;
    if (std::isnan(lse) || lse == kInfinity || !(sum < kInfinity)) return {};  // a NaN sum too
    present.push_back(lse != -kInfinity && sum > 0);
    if (present.back()) {
      result.states.push_back({.max = {lse}, .sum = sum});
      result.index.push_back(index);
    }
  }
  if (!joins.empty()) result.joins = pruned(joins, present);
  return result;
}

/// e^x − 1 of a magnitude, either of which may be 0 and the other inf.
double grown(double log_units, double magnitude) {
  return log_units == 0 || magnitude == 0 ? 0 : growth(log_units) * magnitude;
}

/// Of one element of a sum whose weights are not divided by their computed sum.
ElementBound undivided(const MergePaths& paths, const std::vector<double>& values, double& range, bool& refined) {
  const RowWeights& weights = paths.weights;
  ElementBound bound = column_bound(paths.row, weights, values, EndingModel(), range, &refined);
  double o = 0;
  double size = 0;       // Σ ŵ|v|, at most
  double moved = 0;      // Σ |ŵ − p| |v|
  double spread = 0;     // Σ ŵ |v − o|
  double lost = 0;       // Σ of the weights' underflow times |v − o|, or |v|
  double numerator = 0;  // by the roundings of the sum
  for (std::size_t c = 0; c < values.size(); ++c) o += weights.p[c] * values[c];
  const bool free = paths.total == MergeTotal::free;
  const double underflow = paths.row.numerator_underflow / weights.sum;
  for (std::size_t c = 0; c < values.size(); ++c) {
    const double v = std::fabs(values[c]);
    const double w = weights.p[c] + weights.q[c];
    const double distance = free ? v : std::fabs(values[c] - o);
    const double gone = paths.row.leaves.lost[c];
    lost += gone == 0 || distance == 0 ? 0 : gone / weights.sum * distance;
    if (v == 0) {
      spread += w * std::fabs(o);
      continue;  // w may be inf
    }
    size += w * v;
    moved += weights.q[c] * v;
    spread += w * std::fabs(values[c] - o);

    numerator += grown(paths.row.leaves.numerator[c], w * v);
  }
  if (free) {
    // Nothing pulls Σ ŵ back to 1: Σ q|v| in place of Σ q|v − o|, and λ^ multiplies all of it.
    const double exact = std::fabs(o) * (1 + 0x1p-36) + 0x1p-36 * size;
    const double all = exact + moved;
    bound.weights = (moved + grown(paths.common, all)) * kSlack;
    bound.numerator = (numerator + grown(paths.common, numerator)) * kSlack + underflow;
    bound.denominator = 0;
  } else {
    // A node's two weights are rounded separately and nothing divides by their sum: Σ p|o_c| counts, not |o|.
    const auto n = static_cast<double>(values.size());
    const double average = weights.average([&](std::size_t c) { return growth(paths.node[c]) * std::fabs(values[c]); });
    bound.denominator = average * (1 + growth(roundings(2 * n))) * kSlack;
    bound.weights += grown(paths.common, std::fabs(o) + bound.weights) * kSlack;
  }
  bound.output = 0;
  bound.size = size;
  Chance chance;
  chance.certain(lost + underflow);
  if (paths.constant > 0) chance.certain(paths.constant * bound.weights);
  chance.add(grown(paths.largest, free ? size : spread), bound.weights);
  chance.add(growth(roundings(1)) * size, bound.numerator);
  chance.add(growth(roundings(2)) * size, bound.denominator);
  bound.probable = chance.probable(bound.total());
  return bound;
}

/// State c's own block: the column whose only value is that state's.
ElementBound block(const MergePaths& paths, std::size_t c, double value) {
  const RowWeights& weights = paths.weights;
  const double v = std::fabs(value);
  const double p = weights.p[c];
  const double exact = p * v;
  const double underflow = paths.row.numerator_underflow / weights.sum;
  ElementBound bound;
  bound.size = exact;
  if (paths.total == MergeTotal::divided) {
    double others = 0, rest = 0;  // 1 − p, of which a double beside 1 has nothing left
    for (std::size_t k = 0; k < weights.q.size(); ++k) {
      others += k == c ? 0 : weights.q[k];
      rest += k == c ? 0 : weights.p[k];
    }
    const double moved = (weights.q[c] * rest + p * others) * kSlack / weights.low + weights.slop[c];
    bound.weights = (moved < 1 ? moved : 1) * v * kSlack;
    bound.numerator = grown(paths.row.leaves.numerator[c], exact + bound.weights) * kSlack + underflow;
    const double finite = std::numeric_limits<double>::max();  // no rounding of inf is inf · 0
    bound.denominator = denominator_error(weights, std::min(exact + bound.weights + bound.numerator, finite));
    bound.output = ending_error(paths.ending, exact + bound.weights + bound.numerator + bound.denominator) * kSlack;
  } else {
    // Not renormalised: the root's total weight does not cancel. A weight of a join is at most 1, and so is its error.
    const bool free = paths.total == MergeTotal::free;
    const double total = free ? paths.common : std::max(std::log(weights.up), -std::log(weights.low)) + paths.common;
    const double lost = paths.row.leaves.lost[c] == 0 ? 0 : paths.row.leaves.lost[c] / weights.sum;
    const double log_p = p > 0 ? std::log(p) : paths.row.leaves.score[c] - paths.row.frame.max;
    const double moved = scaled_expm1(log_p, paths.row.leaves.exponent[c] + total * kSlack) + lost + weights.slop[c];
    bound.weights = (free || moved < 1 ? moved : 1) * v * kSlack;
    if (v == 0) bound.weights = 0;
    bound.numerator = grown(paths.row.leaves.numerator[c], exact + bound.weights) * kSlack + underflow;
    bound.denominator = grown(paths.node[c], exact + bound.weights + bound.numerator) * kSlack;
  }
  Chance chance;
  if (v != 0 && paths.row.leaves.lost[c] != 0) chance.certain(paths.row.leaves.lost[c] / weights.sum * v);
  chance.certain(underflow);
  if (paths.constant > 0) chance.certain(paths.constant * bound.weights);
  chance.add(grown(paths.largest, exact), bound.weights);
  chance.add(growth(roundings(1)) * exact, bound.numerator);
  chance.add(growth(roundings(2)) * exact, bound.denominator);
  chance.add(bound.output, bound.output);
  bound.probable = chance.probable(bound.total());
  return bound;
}

/// Of a single state that no computed sum divides: o, or what the flat form's fl(1·o + 0) and its ending make of it.
ElementBound copy(const MergePaths& paths, double value) {
  ElementBound bound;
  bound.size = std::fabs(value);
  bound.output = ending_error(paths.ending, bound.size) * kSlack;
  bound.probable = bound.output;
  return bound;
}

/// Of every state, the largest un-normalised weight of its values: in the state's own frame, or that of all.
std::vector<double> largest_weights(const MergePaths& paths, const Row& row) {
  std::vector<double> weights(row.states.size());
  for (std::size_t c = 0; c < weights.size(); ++c) {
    const double gap = paths.descent.empty() ? (row.states[c].max - paths.frame).count : 0;
    const double log_weight = std::min(gap + paths.row.leaves.exponent[c], kMostGrowth);
    weights[c] = row.states[c].sum * std::exp(log_weight);
  }
  return weights;
}

/// Largest magnitude that the sums of a column may reach on their way; `weights`: largest_weights().
double accumulated(const MergePaths& paths, const Row& row, const std::vector<double>& weights,
                   const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  if (paths.total != MergeTotal::divided) {
    // The weights of a join sum to 1 but for these: a mean of the largest values may leave the range.
    double largest = 0;
    for (const double value : values) largest = std::max(largest, std::fabs(value));
    const double node = *std::ranges::max_element(paths.node);
    return largest == 0 ? 0 : largest * (1 + growth(roundings(4 * n) + paths.above + node));
  }
  std::vector<double> leaves(values.size());
  for (std::size_t c = 0; c < values.size(); ++c) {
    const double v = std::fabs(values[c]);
    leaves[c] = v == 0 ? 0 : weights[c] * v;
  }
  const double sum = largest_sum(row.joins, paths.descent, std::move(leaves));
  return sum == 0 ? 0 : sum * (1 + growth(roundings(4 * n) + paths.row.common));
}

/// The same of a block side by side, where nothing is summed.
double accumulated_alone(const MergePaths& paths, const MergeState& state, std::size_t c, double value) {
  if (value == 0) return 0;
  const double v = std::fabs(value);
  // Joined, a state may carry its first nodes and weigh next to nothing at the root.
  const double node = paths.total == MergeTotal::joint ? paths.node[c] : 0;
  const double wrong = 1 + growth(roundings(4 * static_cast<double>(paths.node.size())) + paths.above + node);
  if (paths.total != MergeTotal::divided) return v * wrong;
  const double gap = paths.descent.empty() ? (state.max - paths.frame).count : 0;
  return state.sum * std::exp(gap + paths.row.leaves.exponent[c] + paths.row.common) * v * wrong;
}

/// The same where nothing is subtracted, over all columns: another form would have a result.
Precondition unshifted_sums(const MergeProblem& problem, const MergePaths& paths, const Row& row, std::int64_t r) {
  Precondition sums{"un-normalised sums of e^lse |o| below the f32 range", 0, kF32Max, false};
  for (std::int64_t column = 0; column < problem.o.shape[2]; ++column) {
    double sum = 0;
    for (std::size_t c = 0; c < row.states.size(); ++c) {
      const double value = std::fabs(problem.o.at({row.index[c], r, column}));
      const double log_weight = row.states[c].max.count + paths.row.leaves.exponent[c] + paths.row.leaves.numerator[c];
      if (value > 0 && std::isfinite(value)) sum += std::exp(log_weight + std::log(value)) * kSlack;
    }
    sums.value = std::max(sums.value, sum);
  }
  return sums;
}

/// A given l may be flushed, and with it the whole sum: then 0/0 is the answer of a block that is 0.
void require_denominator(const MergeProblem& problem, const MergePaths& paths, std::vector<Precondition>& list) {
  if (!problem.has_l() || paths.weights.denominator < 1) return;
  const double share = paths.row.denominator_underflow / paths.weights.sum;
  list.push_back({"share of the sum of weights that underflow may take", std::max(share, 1.0), 1});
}

/// Bound::frame. Of weights whose largest is 1 the sum is in [1, n]; with a given l it may be anything, but m̂ is the largest
/// m_c: of all states, or of those with l_c > 0.
double frame_beyond(const MergeProblem& problem, const Row& row, std::int64_t r, double size) {
  double highest = -kInfinity;
  for (const MergeState& state : row.states) highest = std::max(highest, state.max.count);
  double beyond = std::log(static_cast<double>(problem.o.shape[0]));
  if (problem.has_l()) {
    beyond = std::max(beyond, std::fabs(highest) - size);
    for (const std::int32_t index : problem.order) highest = std::max(highest, problem.lse.at({index, r}));
    beyond = std::max(beyond, std::fabs(highest) - size);
  }
  return beyond * kSlack;
}

}  // namespace

Bound merge_bound(const MergeProblem& problem, const Arithmetic& arithmetic) {
  require_problem(problem, arithmetic);
  const std::int64_t n = problem.o.shape[0];
  const std::int64_t rows = problem.o.shape[1];
  const std::int64_t dv = problem.o.shape[2];
  const bool concat = problem.form == MergeForm::concat;
  const std::int64_t width = concat ? n * dv : dv;
  Bound bound = zero_bound(rows, width);
  const std::vector<Join> joins = arithmetic.reduction == Reduction::flat
                                      ? std::vector<Join>{}
                                      : joins_of(arithmetic.reduction, static_cast<int>(n), problem.joins);

  for (std::int64_t r = 0; r < rows; ++r) {
    const Row row = row_of(problem, joins, r);
    if (row.states.empty()) continue;
    MergePaths paths = merge_paths(row.states, arithmetic, row.joins, problem.form, problem.o.format);
    require_denominator(problem, paths, paths.preconditions);
    bound.lse[r] = paths.lse;
    bound.frame[r] = frame_beyond(problem, row, r, paths.lse.size);
    const bool unshifted = arithmetic.merge_weights == MergeWeights::unshifted;
    for (const Precondition& precondition : paths.preconditions) bound.domain[r].require(precondition);
    if (unshifted) bound.domain[r].require(unshifted_sums(problem, paths, row, r));
    // A single state that is not divided by a sum of its own is copied.
    const bool copied = row.states.size() == 1 && paths.total == MergeTotal::joint;
    const std::vector<double> largest = largest_weights(paths, row);
    std::vector<double> values(row.states.size());
    for (std::int64_t column = 0; column < dv; ++column) {
      bool finite = true;
      for (std::size_t c = 0; c < values.size(); ++c) {
        values[c] = problem.o.at({row.index[c], r, column}) / row.states[c].sum;
        const bool number = std::isfinite(values[c]);
        finite = finite && number;
        if (!concat || !number) continue;
        const std::int64_t at = r * width + row.index[c] * dv + column;
        bound.range[at] = vacuity_range(0, std::fabs(values[c]));
        bound.o[at] = copied ? copy(paths, values[c]) : block(paths, c, values[c]);
        if (copied || unshifted) continue;
        bound.accumulator_outside[at] = accumulated_alone(paths, row.states[c], c, values[c]) < kF32Max ? 0 : 1;
      }
      if (concat || !finite) continue;
      const std::int64_t at = r * width + column;
      bool refined = false;
      const ElementBound element =
          paths.total == MergeTotal::divided
              ? column_bound(paths.row, paths.weights, values, paths.ending, bound.range[at], &refined)
              : undivided(paths, values, bound.range[at], refined);
      bound.o[at] = copied ? copy(paths, values[0]) : element;
      if (copied || unshifted) continue;
      bound.accumulator_outside[at] = accumulated(paths, row, largest, values) < kF32Max ? 0 : 1;
      bound.refined += refined ? 1 : 0;
    }
  }
  return bound;
}

std::vector<Precondition> merge_preconditions(const MergeProblem& problem, const Arithmetic& arithmetic,
                                              std::int64_t r) {
  require_problem(problem, arithmetic);
  const std::vector<Join> joins =
      arithmetic.reduction == Reduction::flat
          ? std::vector<Join>{}
          : joins_of(arithmetic.reduction, static_cast<int>(problem.o.shape[0]), problem.joins);
  const Row row = row_of(problem, joins, r);
  if (row.states.empty()) return {};
  const MergePaths paths = merge_paths(row.states, arithmetic, row.joins, problem.form, problem.o.format);
  std::vector<Precondition> all = paths.preconditions;
  require_denominator(problem, paths, all);
  if (arithmetic.merge_weights == MergeWeights::unshifted) {
    all.push_back(unshifted_sums(problem, paths, row, r));
    return all;
  }
  Precondition sums{"un-normalised sums below the f32 range", 0, kF32Max};
  const std::vector<double> largest = largest_weights(paths, row);
  std::vector<double> values(row.states.size());
  for (std::int64_t column = 0; column < problem.o.shape[2]; ++column) {
    bool finite = true;
    for (std::size_t c = 0; c < values.size(); ++c) {
      values[c] = problem.o.at({row.index[c], r, column}) / row.states[c].sum;
      finite = finite && std::isfinite(values[c]);
    }
    if (finite) sums.value = std::max(sums.value, accumulated(paths, row, largest, values));
  }
  if (problem.form == MergeForm::sum) all.push_back(sums);
  return all;
}

}  // namespace flashproof::bound
