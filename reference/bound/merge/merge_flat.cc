// One combination of all states at once: a maximum, a sum of weights from left to right, one fma chain per element, one
// division; or weights e^{λ_c − λ^} and none (README.md, "Flat").
#include <algorithm>
#include <cmath>

#include "reference/bound/costs.h"
#include "reference/bound/merge/merge_paths.h"

namespace flashproof::bound {

namespace {

/// A single state whose weight is exactly 1 and whose lse is its own. What is left is fl(1·o + 0) and the ending at l = 1.
bool is_copy(const std::vector<MergeState>& states, const Arithmetic& a) {
  return states.size() == 1 && a.merge_weights != MergeWeights::max_sum && a.merge_weights != MergeWeights::unshifted &&
         !rounds_frame(a) && states[0].error.count == 0;
}

/// Leaf c has an exponential of its own; only the error of the constant is common to all leaves.
void charge_own(MergePaths& paths, std::size_t c, Nats own, Nats constant) {
  Leaves& leaves = paths.row.leaves;
  leaves.own[c] = std::max(0.0, leaves.exponent[c] - constant.count);
  paths.constant = std::max(paths.constant, constant_share(constant, own));
}

/// Makes paths.row of w_c = E(λ_c − M), or of e^{λ_c}.
void charge_weights(const std::vector<MergeState>& states, const Arithmetic& a, MergeForm form, Nats frame, Nats doubt,
                    MergePaths& paths) {
  RowModel& row = paths.row;
  Leaves& leaves = row.leaves;
  const auto n = static_cast<double>(states.size());
  const bool shifted = a.merge_weights != MergeWeights::unshifted;
  const bool chain = a.merge_weights == MergeWeights::max_sum;  // l is a chain of fma too
  const double unit = std::exp(std::min((shifted ? 0 : -frame.count) - row.frame.max, 700.0));
  row.common = shifted ? frame_cost(a, abs(frame) + doubt).count : 0;
  for (std::size_t c = 0; c < states.size(); ++c) {
    const Nats below = (shifted ? frame : Nats{}) - states[c].max;
    Nats own, constant;
    if (shifted && (below.count > 0 || doubt.count > 0 || rounds_frame(a))) {
      own = argument_cost(a, below + doubt * 2, abs(states[c].max) + doubt, abs(frame) + doubt) + exponential_cost(a);
      constant = constant_cost(a, below + doubt * 2);
    } else if (!shifted && (below.count != 0 || doubt.count > 0)) {
      own = unshifted_cost(a, abs(states[c].max) + doubt) + exponential_cost(a);
      constant = constant_cost(a, abs(states[c].max) + doubt);
    }
    leaves.exponent[c] = ((states[c].error + own).count + 0x1p-50 * std::fabs(below.count)) * kSlack;
    charge_own(paths, c, own, constant);
    const double later = n - static_cast<double>(c);
    leaves.denominator[c] = roundings(chain ? later : std::min(later, n - 1));
    leaves.numerator[c] = roundings(form == MergeForm::concat ? 1 : later);
    // Whatever a state's error is, the largest computed one is 1 but for its own exponential.
    if (leaves.score[c] == row.frame.max) row.largest_error = std::max(row.largest_error, own.count);
    if (below.count + leaves.exponent[c] + row.common + 2 * doubt.count > kLogMinNormal - 0x1p-10) {
      leaves.lost[c] = exp_underflow(a) * states[c].sum * unit;
      if (states[c].sum != 1) row.largest_leads = false;
    }
  }
  if (!shifted || chain || doubt.count > 0 || rounds_frame(a)) {
    // No weight is 1 for certain. Where some are lost the bracket of lse is not used, and frames err as their m do.
    row.frame.error = row.largest_leads ? std::ranges::max(leaves.exponent) : doubt.count;
  }
  // A flushed o is lost in units of its weight: at most 1 in the frame of the largest.
  const double flushed = !shifted && a.underflow == Underflow::flush ? std::max(unit, 1.0) : unit;
  row.numerator_underflow = underflow_of(a, n, 2 * n) * flushed * later(3 * n);
  row.denominator_underflow = underflow_of(a, chain ? n : 0, 2 * n) * unit * later(3 * n);
}

/// Every rounding of a sum has at most the whole of it below it: Σ δ² <= u Σ p G, and alike for the accumulator.
void allow_chance(MergePaths& paths) {
  double denominator = 0;
  for (std::size_t c = 0; c < paths.weights.p.size(); ++c) {
    denominator += paths.weights.p[c] * paths.row.leaves.denominator[c];
  }
  paths.row.denominator_square = roundings(1) * denominator * kSlack;
  paths.row.numerator_square = roundings(1) * std::ranges::max(paths.row.leaves.numerator) * kSlack;
  set_weights(paths);
}

/// The second exponentials: w_c = E(λ_c − λ^). Nothing divides, so what λ^ errs by multiplies o.
/// `log_sum`: λ beside the frame, where a double of λ may have no room for it.
void charge_division_free(const std::vector<MergeState>& states, const Arithmetic& a, Nats doubt, double log_sum,
                          MergePaths& paths) {
  const Nats lse{paths.weights.lse}, error{paths.lse.total() + paths.lse_last};
  Leaves& leaves = paths.row.leaves;
  const double frame = frame_cost(a, abs(lse) + error).count;
  for (std::size_t c = 0; c < states.size(); ++c) {
    const Nats reach = (paths.frame - states[c].max + Nats{log_sum} + error + doubt) * kSlack;
    const Nats own = argument_cost(a, reach, abs(states[c].max) + doubt, abs(lse) + error) + exponential_cost(a);
    const Nats constant = constant_cost(a, reach);
    leaves.exponent[c] = (states[c].error + own + reach * 0x1p-50).count * kSlack;
    charge_own(paths, c, own, constant);
    leaves.denominator[c] = 0;
    leaves.lost[c] = reach.count + leaves.exponent[c] + frame > kLogMinNormal - 0x1p-10 ? exp_underflow(a) : 0;
    leaves.lost[c] *= std::exp(log_sum - paths.row.frame.max) * kSlack;
  }
  // These weights sum to 1, the leaves' to more: what is lost beside them, too, is in the leaves' units.
  paths.row.numerator_underflow *= std::exp(log_sum - paths.row.frame.max) * kSlack;
  paths.row.denominator_underflow = 0;
  paths.row.denominator_square = 0;
  paths.common = error.count + frame;
  // For the chance model: the logarithm, λ^ and its product are one rounding each, of all states.
  paths.largest =
      std::max({paths.largest, paths.lse.output, paths.lse_last, frame, *std::ranges::max_element(leaves.exponent)});
  paths.total = MergeTotal::free;
  paths.above = paths.common + std::ranges::max(leaves.exponent);
  paths.preconditions.push_back(
      {"weights e^(lse_c - lse) below the f32 range: log of the largest", paths.common, kLogF32Max});
}

}  // namespace

MergePaths flat_paths(const std::vector<MergeState>& states, const Arithmetic& a, MergeForm form) {
  MergePaths paths;
  set_leaves(paths, states);
  if (is_copy(states, a)) {
    set_weights(paths);
    paths.lse.output = paths.lse.probable = underflow_of(a, 0, 1);  // fl(λ + 0)
    paths.lse.size = std::fabs(paths.weights.lse);
    paths.total = MergeTotal::joint;
    paths.ending.underflow = underflow_of(a, 0, 1);
    if (a.ending == Ending::multiply_reciprocal && a.reciprocal_error > 0) {  // 1/1 errs as any other
      paths.ending.log_units = reciprocal_cost(a);
      paths.ending.underflow = underflow_of(a, 1, 1);
    }
    return paths;
  }
  const Nats frame = paths.frame;
  Nats doubt;
  double sum = 0;
  for (const MergeState& state : states) {
    doubt = std::max(doubt, state.error);
    sum += state.sum * std::exp((state.max - frame).count);
  }
  const bool shifted = a.merge_weights != MergeWeights::unshifted;
  charge_weights(states, a, form, frame, doubt, paths);
  set_weights(paths);
  allow_chance(paths);

  const RowWeights& weights = paths.weights;
  const double log_size = std::fabs(std::log(sum) + (shifted ? 0 : frame.count)) * kSlack;
  paths.largest = *std::ranges::max_element(paths.row.leaves.exponent) + paths.row.common;
  paths.lse = merge_lse(weights, a, log_size + doubt.count, paths.largest, paths.constant);
  const double lse_size = std::fabs(weights.lse) + paths.lse.total();
  paths.lse_last = shifted ? sum_cost(lse_size, log_size + doubt.count + paths.lse.total()) : 0;
  if (a.merge_weights == MergeWeights::division_free) {
    charge_division_free(states, a, doubt, std::log(sum), paths);
    set_weights(paths);
  } else {
    paths.ending = merge_ending(a, log_size + doubt.count + paths.lse.total(), lse_size);
    const double log_l = shifted ? std::log(sum) : weights.lse;  // an unshifted factor is e^{−λ^}
    require_factor(a, log_l - doubt.count - paths.lse.total(), paths);
  }
  require_sum(paths);
  const auto n = static_cast<double>(states.size());
  if (shifted) {
    const double most = sum * (1 + growth(roundings(n))) * weights.up * std::exp(paths.row.common);
    paths.preconditions.push_back({"sum of weights below the f32 range", most, kF32Max});
    if (rounds_frame(a)) paths.preconditions.push_back(head_room(a, abs(frame) + doubt, n));
  } else {
    const double log_sum = paths.lse.weights + paths.lse.denominator;
    paths.preconditions.push_back(
        {"sum of e^x below the f32 range: log of it", weights.lse + log_sum, kLogF32Max, false});
    paths.preconditions.push_back(
        {"sum of e^x above the smallest normal f32: -log of it", log_sum - weights.lse, kLogMinNormal, false});
  }
  return paths;
}

}  // namespace flashproof::bound
