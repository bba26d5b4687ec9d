#include "reference/bound/attention/attention_split.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "reference/bound/attention/split_tree.h"
#include "reference/bound/costs.h"
#include "reference/bound/merge/merge_tree.h"
#include "reference/problem/special_values.h"

namespace flashproof::bound {

namespace {

/// A doubt beyond which two states may have any ratio: nothing is known of the row.
constexpr double kAnyRatio = 1e4;
constexpr double kBaseError = 0x1.dp-27;  // |fl(log2 e)/log2 e − 1| = 1.335e-8; of fl(ln 2) 2.75e-9

/// An absolute error beside a sum that is smaller by e^{−log}. It may be 0 beside an inf.
double rescaled(double lost, double log) { return lost == 0 ? 0 : lost * std::exp(log) * kSlack; }

}  // namespace

double lse_form_cost(const Arithmetic& a, const ScoreScale& scale, Nats frame, Nats lse) {
  const double frame_size = frame.count, lse_size = lse.count;
  switch (a.lse_form) {
    case LseForm::max_plus_log:
      return 0;
    case LseForm::scaled_max_plus_log:
      return (roundings(1) + scale.unit_error * (1 + 0x1p-20)) * frame_size + kTiny;
    case LseForm::base2:
      break;
  }
  // fl(f·ĉ), the sum, fl(ln 2); the last product is lse's rounding. Where f·ĉ returns to nats before the sum, a second rounding
  // and the constant are relative to f: not less than to lse where f is negative and many keys bring lse near 0.
  const double second = std::max(frame_size, lse_size);
  return (roundings(1) + scale.c_error * (1 + kU)) * frame_size + (roundings(1) + kBaseError) * second * (1 + 0x1p-20) +
         kTiny;
}

double division_free_argument(const Arithmetic& a, double log_size, double lse_size) {
  const Nats units =
      argument_cost(a, {log_size}, {lse_size + log_size}, {lse_size}) + frame_cost(a, {lse_size}) + exponential_cost(a);
  return (units + factor_underflow_cost(a, Nats{log_size} + units)).count;
}

AttentionSplit::AttentionSplit(const AttentionProblem& p, const Arithmetic& a, const ScoreScale& scale,
                               double value_factor)
    : p_(p),
      a_(a),
      scale_(scale),
      merge_(a),
      sums_(a.split.weights == MergeWeights::max_sum),
      product_(!p.v_descale.shape.empty()),
      per_factor_(value_factor == 0 ? 0 : 1 / std::fabs(value_factor)) {
  merge_.reduction = a.split.combine;
  merge_.merge_weights = a.split.weights;
  merge_.lse_format = Format::f32;
}

double AttentionSplit::lost_of_sum(const RowModel& row, const State& state) {
  const double share = rescaled(row.denominator_underflow, state.least);
  return share < 0.5 ? 2 * share : kAnyRatio;  // −ln(1 − x) <= 2x
}

// The exact lse of every part and what its computed one may miss it by.
void AttentionSplit::measure(const RowModel& row, const AttentionPaths& paths) {
  const Leaves& leaves = row.leaves;
  const auto& parts = paths.visits().parts();
  states_.clear();
  state_of_part_.assign(parts.size(), -1);
  for (std::size_t n = 0; n < parts.size(); ++n) {
    if (parts[n].keys == 0) continue;
    state_of_part_[n] = static_cast<int>(states_.size());
    states_.push_back({.part = static_cast<int>(n), .max = -kInfinity, .lse = 0, .denominator = 0});
  }
  std::vector<double> sum(states_.size(), 0), up(states_.size(), 0), low(states_.size(), 0), own(states_.size(), 0);
  const auto state_of = [&](std::size_t j) { return state_of_part_[paths.visits().part_of(j)]; };
  for (std::size_t j = 0; j < leaves.size(); ++j) {
    State& state = states_[state_of(j)];
    state.max = std::max(state.max, leaves.score[j]);
    state.denominator = std::max(state.denominator, leaves.denominator[j]);
  }
  for (std::size_t j = 0; j < leaves.size(); ++j) {
    const int c = state_of(j);
    const double log_weight = leaves.score[j] - states_[c].max;
    const double error = leaves.score_error[j] + leaves.exponent[j];
    const double lost = rescaled(leaves.lost[j], paths.common(states_[c].part));  // beside weights times e^κ
    sum[c] += std::exp(log_weight);
    up[c] += std::exp(log_weight + error) + lost;
    low[c] += std::max(0.0, std::exp(log_weight - error) - lost);
    // Whatever may be its part's computed maximum. Not by the row's frame: a pivot errs by less than the keys of other parts.
    const bool may_lead = leaves.score[j] + leaves.score_error[j] >= paths.visits().parts()[states_[c].part].low;
    if (may_lead) own[c] = std::max(own[c], leaves.exponent[j]);
  }
  const double lag = paths.visits().lag().count;
  for (std::size_t c = 0; c < states_.size(); ++c) {
    State& state = states_[c];
    state.lse = state.max + std::log(sum[c]);
    const double kappa = paths.common(state.part);
    // By the boxes, or because every weight is at most the largest, and that is 1.
    const double boxes = std::max(std::log(up[c] / sum[c]), -std::log(low[c] / sum[c]));
    state.least = kappa + own[c];
    const double underflow = lost_of_sum(row, state);
    const double weights = boxes * kSlack + kappa + growth(state.denominator) + underflow + 0x1p-40;
    const Part& part = paths.visits().parts()[state.part];
    const double frame = std::max(std::fabs(part.frame_low), std::fabs(part.frame_high));
    if (!sums_) {
      const double log_size = std::log(sum[c]) + weights + lag + 2 * (part.high - part.low);
      const double size = std::fabs(state.lse) + weights;
      state.local =
          logarithm_cost(a_.log_error, a_.log_absolute, log_size) + lse_form_cost(a_, scale_, Nats{frame}, Nats{size});
      state.local += roundings(1) * (size + state.local) + kTiny;
      if (a_.split.partial_lse != Format::f32) {
        state.local +=
            unit_roundoff(a_.split.partial_lse) * (size + state.local) + min_subnormal(a_.split.partial_lse) / 2;
      }
    }
    state.doubt = (weights + state.local) * kSlack;
    if (!(state.doubt < kAnyRatio)) state.doubt = kInfinity;
  }
}

// o of a part is rounded as it ends, again by its product with v_descale, and again into partial_o; un-normalised ones are
// only multiplied and stored.
void AttentionSplit::add_endings(RowModel& row, const AttentionPaths& paths) {
  const Format stored = a_.split.partial_o;
  const double storing = stored == Format::f32 ? 0 : std::log1p(unit_roundoff(stored));
  const double reciprocal = a_.ending == Ending::multiply_reciprocal ? reciprocal_cost(a_) : 0;
  ending_units_.assign(states_.size(), storing + (product_ ? roundings(1) : 0));
  normalised_underflow_ = stored == Format::f32 ? 0 : min_subnormal(stored) / 2;
  if (product_) {
    const double flushed = a_.underflow == Underflow::flush ? 0x1p-126 : 0;  // of an o that is subnormal before it
    normalised_underflow_ = (normalised_underflow_ + product_underflow(a_)) * per_factor_ + flushed;
  }
  if (!sums_) normalised_underflow_ += underflow_of(a_, 2, 2);
  for (std::size_t c = 0; c < states_.size(); ++c) {
    const State& state = states_[c];
    if (sums_ || a_.reduction != Reduction::chunk_deferred) continue;
    ending_units_[c] += roundings(1) + reciprocal;
    if (a_.ending == Ending::division_free) {
      const double size = std::fabs(state.lse - state.max) + state.doubt + paths.visits().lag().count;
      const double lse = std::fabs(state.lse) + state.doubt;
      ending_units_[c] += state.local + division_free_argument(a_, size + state.local, lse);
      if (a_.lse_form == LseForm::base2) ending_units_[c] += roundings(1) * (std::fabs(state.max) + size);
    }
  }
  for (std::size_t j = 0; j < row.leaves.size(); ++j) {
    const int c = state_of_part_[paths.visits().part_of(j)];
    row.leaves.numerator[j] += row.leaves.key[j] < 0 ? 0 : ending_units_[c];
    row.leaves.denominator[j] += lost_of_sum(row, states_[c]);
  }
  row.denominator_underflow = 0;
}

double AttentionSplit::own(const State& state, const AttentionPaths& paths) {
  return state.local + paths.common(state.part);
}

AttentionSplit::Joined AttentionSplit::join(const RowModel& row, const AttentionPaths& paths) {
  std::vector<bool> present;
  present.reserve(state_of_part_.size());
  for (const int c : state_of_part_) present.push_back(c >= 0);
  const SplitTree tree = split_tree(a_.split.combine, present);
  const bool free = a_.split.weights == MergeWeights::division_free || a_.split.weights == MergeWeights::running;

  double doubt = 0, total = 0, highest = -kInfinity, lowest = kInfinity;
  for (const State& state : states_) {
    doubt = std::max(doubt, state.doubt);
    highest = std::max(highest, state.lse);
    lowest = std::min(lowest, state.lse);
  }
  for (const State& state : states_) total += std::exp(state.lse - highest);
  const double unit = std::exp(highest - row.frame.max) * total;  // 1 in the units of the leaves

  const auto states_with = [&](auto&& error) {
    std::vector<MergeState> states;
    for (const State& state : states_) {
      const double l = sums_ ? std::exp(state.lse - state.max) : 1;
      states.push_back({.max = {sums_ ? state.max : state.lse}, .sum = l, .error = {error(state)}});
    }
    return states;
  };
  const std::vector<MergeState> plain = states_with([](const State&) { return 0.0; });
  const MergePaths o = merge_paths(states_with([&](const State& s) { return free ? 0.0 : own(s, paths); }), merge_,
                                   tree.joins, MergeForm::sum, p_.output_format());
  const MergePaths doubted = merge_paths(states_with([](const State& s) { return s.doubt; }), merge_, tree.joins,
                                         MergeForm::sum, p_.output_format());
  const MergePaths exact = free ? o : merge_paths(plain, merge_, tree.joins, MergeForm::sum, p_.output_format());
  const int deepest = std::max(1, *std::ranges::max_element(tree.depth));
  // merge_paths() knows a state's error as its doubt; ours is larger: exponents reach further, and any side of a join
  // may be the smaller one.
  const double slope = std::max(paths.exponents().ratio_slope(), exponent_slope(merge_));
  const double lag = sums_ ? paths.visits().lag().count : 0;
  const double most = std::max(std::fabs(highest), std::fabs(lowest)) + doubt + lag;
  // A frame of max_sum is the m of a part; that of a tree, where its sides may change places, an lse above all parts'.
  const double frame = sums_ ? most : std::max(most, turned(tree, plain, doubt + 2 * deepest * doubted.largest));
  const double last = sums_ ? 0 : unsettled(tree, plain, total, roundings(1) * (most + doubt), doubt);
  // The sum whose logarithm a join takes is off by both sides' doubt, and so far may that logarithm reach further.
  const double log2 = a_.split.weights == MergeWeights::stable ? std::log(2.0) : kInfinity;  // ln(1 + e), e <= 1
  const double logarithm = sums_ ? 0 : a_.log_error * std::min(2 * doubt, log2);
  const double more = slope * (4 * doubt + 2 * lag + (sums_ ? highest - lowest : 0)) + exponential_cost(a_).count +
                      frame_cost(a_, {frame}).count +
                      (a_.exponent == Exponent::unfused ? frame_cost(a_, {frame}).count : 0) + last + logarithm;
  // How far the computed frame of a state may lie below the root's: of sums it is a maximum, in more doubt than their sums are.
  double reach = highest + std::log(total) - lowest + 2 * doubt;
  if (sums_) {
    double high = -kInfinity, low = kInfinity;
    for (const State& state : states_) {
      high = std::max(high, paths.visits().parts()[state.part].high);
      low = std::min(low, paths.visits().parts()[state.part].low);
    }
    reach = high - low + lag;
  }
  const bool may_underflow = !(reach + more < kLogMinNormal - 1);
  return {.tree = tree,
          .deepest = deepest,
          .free = free,
          .o = o,
          .exact_lse = exact.lse,
          .preconditions = doubted.preconditions,
          .doubt = doubt,
          .total = total,
          .highest = highest,
          .unit = unit,
          .slope = slope,
          .lag = lag,
          .more = more,
          .may_underflow = may_underflow,
          .steepest = a_.split.weights == MergeWeights::one_sided ? steepest(tree, plain) : 0};
}

void AttentionSplit::charge_leaves(RowModel& row, const AttentionPaths& paths, const Joined& joined) {
  for (std::size_t j = 0; j < row.leaves.size(); ++j) {
    const int c = state_of_part_[paths.visits().part_of(j)];
    const State& state = states_[c];
    Leaves& leaves = row.leaves;
    const double extra =
        states_.size() == 1 && !paths.exponents().rounds_frame() ? 0 : joined.tree.depth[c] * joined.more;
    // ln of its share of the part, at most: computed scores may be in more doubt than the part as a whole. Of sums the weight in the
    // part's frame, which may lie far below the exact one, beside the exact l.
    const double highest = leaves.score[j] + leaves.score_error[j];
    const double above = highest - paths.visits().parts()[state.part].low;
    const double log_share = sums_ ? std::min(0.0, above) + leaves.exponent[j] - (state.lse - state.max)
                                   : std::min(0.0, highest + leaves.exponent[j] - state.lse + state.doubt);
    const double added = joined.free ? own(state, paths) : joined.o.row.leaves.exponent[c] + extra;
    leaves.exponent[j] += added;
    // What the part lost stands beside weights that all have its κ; the last frame lies above its own, if anywhere.
    const double height = paths.visits().parts()[state.part].high - (row.frame.max - row.frame.error);
    const double moved = std::min(0.0, height) + (joined.free ? state.local : paths.common(state.part) + added);
    leaves.lost[j] = rescaled(leaves.lost[j], moved);
    leaves.lost_numerator[j] = rescaled(leaves.lost_numerator[j], moved);
    // The largest state is 1 there, and the largest weight here. Sums beside a lazy frame are up to e^lag of what they are beside the
    // maximum. What doubt alone makes subnormal is lost in units of the kernel's frame, of sums the leaf's own weight there.
    const double lost = joined.o.row.leaves.lost[c] * std::exp(joined.highest - row.frame.max);
    if (lost > 0) leaves.lost[j] += lost * std::exp(std::min(log_share + joined.lag, 700.0)) * kSlack;
    if (joined.may_underflow) {
      const double whole = sums_ ? state.lse - state.max : std::log(joined.unit);  // ln of what log_share is a share of
      const double grown = joined.deepest * joined.more + (joined.free ? 2 * joined.doubt : joined.lag);
      leaves.lost[j] +=
          4 * joined.deepest * exp_underflow(a_) * std::exp(std::min(log_share + whole + grown, 700.0)) * kSlack;
    }
    double numerator = joined.o.row.leaves.numerator[c] + joined.o.common;
    if (joined.o.total == MergeTotal::joint) numerator += joined.o.node[c];
    if (joined.free) numerator += joined.o.row.leaves.exponent[c] + 4 * joined.deepest * joined.more;
    if (a_.split.weights == MergeWeights::one_sided) numerator += joined.deepest * joined.more;
    if (sums_) numerator += roundings(joined.tree.depth[c]);  // a factor that merge_paths() takes for 1
    leaves.numerator[j] += leaves.key[j] < 0 ? 0 : numerator;
    leaves.lost_numerator[j] = rounded_later(leaves.lost_numerator[j], numerator + ending_units_[c]);
    if (joined.o.total == MergeTotal::divided) {
      leaves.denominator[j] += joined.o.row.leaves.denominator[c] + (sums_ ? roundings(joined.tree.depth[c]) : 0);
    }
  }
  for (const State& state : states_) least_ = std::max(least_, state.least);
  // Denominators of a flat combination's l and N, per unit of a total of 1.
  normalised_underflow_ += joined.o.row.numerator_underflow / joined.o.weights.sum * per_factor_;
  if (sums_) normalised_underflow_ = rescaled(normalised_underflow_, least_);  // nothing is normalised yet
  if (joined.o.total == MergeTotal::divided) {
    for (double& units : row.leaves.denominator) units += 2 * joined.o.row.denominator_underflow / joined.o.weights.sum;
  }
}

// lse: what the states' errors make of an exact combination, then the combination's own errors.
void AttentionSplit::charge_lse(const AttentionPaths& paths, const Joined& joined) {
  double up = 0, low = 0;
  for (const State& state : states_) {
    up += std::exp(state.lse - joined.highest + state.doubt) / joined.total;
    low += std::exp(state.lse - joined.highest - state.doubt) / joined.total;
  }
  const double inherited = std::max(std::log(up), -std::log(low)) * kSlack + 0x1p-44;
  // Fused, the largest state's weight is not 1 either.
  const bool exactly_one = states_.size() == 1 && !paths.exponents().rounds_frame();
  const double second =
      (exactly_one ? 0 : 2 * joined.deepest * joined.more) +
      (exactly_one && !sums_ ? 0 : a_.log_error * 2 * joined.deepest * (joined.doubt + joined.more + joined.lag));
  lse_ = joined.exact_lse;
  lse_.weights += inherited + second;
  lse_.probable += inherited + second;
  const double size = std::fabs(joined.o.weights.lse) + joined.doubt;
  if (sums_) {
    double largest = 0;
    for (const Part& part : paths.visits().parts()) {
      if (part.keys > 0) largest = std::max({largest, std::fabs(part.frame_low), std::fabs(part.frame_high)});
    }
    const double form = lse_form_cost(a_, scale_, Nats{largest}, Nats{size});
    lse_.output += form;
    lse_.probable += form;
    if (a_.ending == Ending::division_free) {
      double highest_max = -kInfinity;
      for (const State& state : states_) highest_max = std::max(highest_max, state.max);
      const double term = std::fabs(joined.o.weights.lse - highest_max), rounding = roundings(1) * size;
      const double rounded = std::min(rounding, term + 2 * joined.doubt) - std::min(rounding, term);  // as unsettled()
      ending_.log_units += form + rounded + (a_.log_error + joined.slope) * (joined.lag + 2 * joined.doubt) +
                           division_free_argument(a_, joined.doubt, size);
    }
  }
}

void AttentionSplit::require(const Joined& joined) {
  preconditions_ = joined.preconditions;
  if (a_.split.weights == MergeWeights::one_sided) {
    preconditions_.push_back({"one-sided exponential of the split below the f32 range: log of it",
                              joined.steepest + 2 * joined.doubt + joined.more, kLogF32Max});
  }
  if (a_.split.partial_lse != Format::f32) {
    const double size = std::fabs(joined.o.weights.lse) + joined.doubt;
    preconditions_.push_back({"partial lse below its format's range", size, info(a_.split.partial_lse).max_finite});
  }
}

void AttentionSplit::charge(RowModel& row, const AttentionPaths& paths) {
  measure(row, paths);
  preconditions_.clear();
  least_ = 0;
  bool hopeless = false;
  for (const State& state : states_) hopeless = hopeless || state.doubt == kInfinity;
  add_endings(row, paths);
  if (hopeless) {
    for (double& exponent : row.leaves.exponent) exponent += kAnyRatio;
    lse_ = {.weights = kInfinity, .probable = kInfinity};
    ending_ = EndingModel(2);
    return;
  }
  const Joined joined = join(row, paths);
  ending_ = joined.o.ending;
  ending_.underflow *= per_factor_;
  charge_leaves(row, paths, joined);
  charge_lse(paths, joined);
  require(joined);
}

}  // namespace flashproof::bound
