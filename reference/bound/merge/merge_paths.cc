// What the three walks share: the leaves, the ending, lse of a quotient, the storage format.
#include "reference/bound/merge/merge_paths.h"

#include <algorithm>
#include <cmath>

#include "reference/bound/costs.h"

namespace flashproof::bound {

void set_leaves(MergePaths& paths, const std::vector<MergeState>& states) {
  RowModel& row = paths.row;
  paths.frame = states[0].max;
  for (const MergeState& state : states) paths.frame = std::max(paths.frame, state.max);
  for (std::size_t c = 0; c < states.size(); ++c) {
    row.leaves.key.push_back(static_cast<std::int64_t>(c));
    row.leaves.score.push_back((states[c].max - paths.frame).count + std::log(states[c].sum));
  }
  row.leaves.resize(states.size());
  paths.node.assign(states.size(), 0.0);
  row.frame.max = std::ranges::max(row.leaves.score);
}

void set_weights(MergePaths& paths) {
  paths.weights = perturbed_weights(paths.row);
  paths.weights.lse += paths.frame.count;
}

EndingModel merge_ending(const Arithmetic& arithmetic, double log_size, double lse_size) {
  switch (arithmetic.ending) {
    case Ending::divide:
      return {0, underflow_of(arithmetic, 0, 1)};  // a flushed quotient; a gradual one is the last rounding
    case Ending::multiply_reciprocal:
      return {reciprocal_cost(arithmetic, std::exp(std::min(log_size, 700.0))), underflow_of(arithmetic, 1, 0)};
    case Ending::division_free:
      break;
  }
  // The logarithm, the rounding of lse^, the exponential of f − lse^; the product is the last rounding.
  const double term = logarithm_cost(arithmetic.log_error, arithmetic.log_absolute, log_size);
  const double log = term + sum_cost(lse_size, log_size + term);
  const Nats argument = argument_cost(arithmetic, {log_size + log}, {lse_size + log_size}, {lse_size + log}) +
                        frame_cost(arithmetic, {lse_size + log});
  const Nats units = Nats{log} + argument + exponential_cost(arithmetic);
  return {(units + factor_underflow_cost(arithmetic, Nats{log_size} + units)).count * kSlack,
          underflow_of(arithmetic, 1, 0)};
}

void require_factor(const Arithmetic& a, double least, MergePaths& paths) {
  if (a.ending == Ending::division_free) {
    const double log = paths.ending.log_units - least;
    paths.preconditions.push_back({"e^(m - lse) below the f32 range: log of it", log, kLogF32Max, false});
  } else if (a.ending == Ending::multiply_reciprocal) {
    const double error = std::max(0x1p-10, std::log1p(a.reciprocal_error));
    paths.preconditions.push_back({"reciprocal of l below the f32 range: log of it", error - least, kLogF32Max, false});
  }
}

void require_sum(MergePaths& paths) {
  if (paths.row.largest_leads) return;
  paths.preconditions.push_back(
      {"sum of weights above 0: -log of what is certainly left", -std::log(paths.weights.low), 700});
}

double largest_sum(std::span<const Join> joins, const std::vector<double>& descent, std::vector<double> leaves) {
  if (descent.empty()) {
    double sum = 0;
    for (const double leaf : leaves) sum += leaf;
    return sum;
  }
  double largest = joins.empty() ? leaves[0] : 0;  // a state that is joined is a number of the format
  for (const Join& join : joins) {
    double sum = 0;
    for (const std::int32_t side : {join.left, join.right}) {
      if (leaves[side] > 0) sum += leaves[side] * descent[side];  // inf · 0
    }
    largest = std::max(largest, sum);
    leaves.push_back(sum);
  }
  return largest;
}

ElementBound merge_lse(const RowWeights& weights, const Arithmetic& arithmetic, double log_size, double largest,
                       double constant) {
  ElementBound lse;
  lse.weights = weights.lse_weights;
  const double denominator = std::max(-std::log1p(-std::min(weights.denominator, 1.0)), weights.denominator_up);
  lse.denominator = denominator * kSlack;
  const double size = log_size + lse.weights + lse.denominator;
  lse.output = size == 0 ? 0 : logarithm_cost(arithmetic.log_error, arithmetic.log_absolute, size) * kSlack;
  lse.output += underflow_of(arithmetic, 0, 2);  // M and the sum
  lse.size = std::fabs(weights.lse);
  Chance chance;
  if (constant > 0) chance.certain(constant * lse.weights);
  chance.add(largest, lse.weights);
  chance.add(roundings(1), lse.denominator);
  chance.add(lse.output, lse.output);
  lse.probable = chance.probable(lse.total());
  return lse;
}

MergePaths merge_paths(const std::vector<MergeState>& states, const Arithmetic& arithmetic, std::span<const Join> joins,
                       MergeForm form, Format storage) {
  const int store = storage == Format::f32 ? 0 : 1;  // the f32 result before a narrower format
  const bool flat = arithmetic.reduction == Reduction::flat;
  const bool sums = arithmetic.merge_weights == MergeWeights::max_sum;
  MergePaths paths = flat   ? flat_paths(states, arithmetic, form)
                     : sums ? sum_tree_paths(states, arithmetic, joins, form)
                            : lse_tree_paths(states, arithmetic, joins, form);
  if (paths.total == MergeTotal::divided) {
    paths.ending.log_units += roundings(store);
    paths.ending.underflow += underflow_of(arithmetic, store, 0);
  } else {
    if (paths.ending.log_units > 0) paths.ending.log_units += roundings(store);
    // The last of the roundings counted so far is the one into f32.
    for (double& units : paths.row.leaves.numerator) units = std::max(0.0, units + roundings(store - 1));
  }
  return paths;
}

}  // namespace flashproof::bound
