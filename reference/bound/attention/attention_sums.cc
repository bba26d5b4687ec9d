// Roundings of the sums, and P: README.md, sections 4 and 5.
#include <algorithm>
#include <cmath>

#include "reference/bound/attention/attention_paths.h"
#include "reference/bound/costs.h"

namespace flashproof::bound {

namespace {

constexpr double kRounding = kU + kU * kU;  // roundings() of one, for loops

}  // namespace

// What depends on a key's place, not on its score.
void AttentionPaths::count_places(const Leaves& leaves) {
  const std::size_t n = leaves.size();
  for (auto* array : {&lane_count_, &rounded_count_, &step_count_}) array->assign(n, 0);
  most_.assign(visits_.visits().size() + 1, {});
  // A level beside which nothing stands rounds nothing: every one that does takes another key in.
  const int joins = std::max(butterfly_, std::min(a_.lane_joins, static_cast<int>(n) - 1));
  for (std::size_t j = 0; j < n; ++j) {
    const KeyVisit& place = visits_.place(j);
    const bool sink = place.visit < 0;
    const bool not_first = !sink && !visits_.visits()[place.visit].first;
    int lane = place.rest_of_lane + joins;
    if (normalized_ || running_) {
      lane = sink ? 0 : lane;
    } else {
      lane += resident_ || a_.running_lanes ? visits_.later_lane_keys(place.visit, place.lane)
                                            : not_first + visits_.later_lane_chunks(place.visit, place.lane);
    }
    lane_count_[j] = lane;
    if (!sink && !unit_) {
      rounded_count_[j] = place.rest_of_chain + tree_;
    } else if (!sink && a_.values.promote > 0) {
      const int segment = (a_.values.promote + a_.values.unit.k - 1) / a_.values.unit.k;
      const int shared = a_.visits == BlockOrder::any ? visits_.after(place.visit).steps : 0;  // a chunk with others
      step_count_[j] = std::min(place.rest_of_steps + shared, segment);
      rounded_count_[j] = place.rest_of_segments;
    } else if (!sink) {
      step_count_[j] = place.rest_of_steps;
    }
    Most& most = most_[place.visit + 1];
    most.lane = std::max(most.lane, lane_count_[j]);
    most.rounded = std::max(most.rounded, rounded_count_[j]);
    most.steps = std::max(most.steps, step_count_[j]);
  }
}

void AttentionPaths::charge_sums(RowModel& row, const Run& run) {
  charge_lanes(row, run);
  const double frames = separated_ || running_ ? charge_frames(row, run) : 0;
  if (run.visit < 0) {  // v = 0
    row.leaves.numerator[run.begin] = 0;
  } else {
    charge_products(row, run, frames);
  }
}

void AttentionPaths::charge_lanes(RowModel& row, const Run& run) {
  const After& after = visits_.after(run.visit);
  const bool sink = run.visit < 0;
  const bool not_first = !sink && !visits_.visits()[run.visit].first;
  const bool below = !sink && visits_.visits()[run.visit].below;
  const int rises = visits_.rises_after(run.visit);
  const double in_lane = running_      ? not_first
                         : separated_  ? (below && !a_.per_key) + not_first + after.chunks + rises
                         : normalized_ ? (below && !recap_) + not_first + after.chunks
                                       : rises;
  longest_denominator_ = std::max(longest_denominator_, most_[run.visit + 1].lane + in_lane);
  double* __restrict const to = row.leaves.denominator.data();
  const double* __restrict const count = lane_count_.data();
  for (std::size_t j = run.begin; j < run.end; ++j) to[j] = (count[j] + in_lane) * kRounding;
}

void AttentionPaths::charge_products(RowModel& row, const Run& run, double frames) {
  const After& after = visits_.after(run.visit);
  const bool not_first = !visits_.visits()[run.visit].first;
  const bool below = visits_.visits()[run.visit].below;
  const int rises = visits_.rises_after(run.visit);
  const Most& most = most_[run.visit + 1];
  // To the end of the chunk; un-normalised sums go on.
  int rounded = 0, steps = 0;
  const bool goes_on = !normalized_ && !resident_;
  const int later = goes_on ? after.chunks : 0;
  if (!unit_) {
    rounded = (goes_on ? after.chain : 0) + tree_ * later;
  } else if (a_.values.promote > 0) {
    rounded = goes_on ? after.segments : 0;
  } else {
    // A rescaled accumulator has 23 fraction bits: a step of zeros cuts it too.
    const int zeros = goes_on && a_.values.unit.ofb < 23 ? 1 + later : 0;
    steps = (goes_on ? after.steps : 0) + zeros;
  }
  double units = tf32_units_;
  units += frames;
  if (separated_) {
    // Own chunk: p/l', β·pv, the sum. Later ones: e'·l, l'·e, their quotient, its product with o, the sum.
    rounded += 1 + (below && !a_.per_key) + not_first + 5 * after.chunks - (stored_narrow_ ? 0 : 1);
  } else if (normalized_) {
    // Own chunk: β·pv, the sum, 1/l', the product with it (or one quotient). Later ones: a·o, the sum, the same again.
    // The last one into f32 is the output rounding.
    // Recap ends the chunk by itself, and multiplies that by a always.
    const int endings = 1 + after.chunks + (recap_ ? 1 : 0);
    rounded += (recap_ ? 1 : below) + not_first + endings + 2 * after.chunks - (stored_narrow_ || parts_ > 1 ? 0 : 1);
    units += endings * reciprocal_;
  } else if (resident_) {
    rounded += 1 + std::min(a_.lane_joins, keys_ - 1);
    units += reciprocal_;
  } else {
    rounded += running_ ? after.chunks : rises;
  }
  const double unit_step = unit_step_;
  double* __restrict const numerator = row.leaves.numerator.data();
  const double* __restrict const rounded_count = rounded_count_.data();
  const double* __restrict const step_count = step_count_.data();
  for (std::size_t j = run.begin; j < run.end; ++j) {
    numerator[j] = (rounded_count[j] + rounded) * kRounding + (step_count[j] + steps) * unit_step + units;
  }
  const double longest = roundings(most.rounded + rounded) + (most.steps + steps) * unit_step + units;
  longest_ = std::max(longest_, longest + (normalized_ ? roundings(rises) : 0));
  longest_rounded_ = std::max(longest_rounded_, most.rounded + rounded);
  longest_steps_ = std::max(longest_steps_, most.steps + steps);
}

void AttentionPaths::charge_stored(RowModel& row, const Run& run) {
  Leaves& leaves = row.leaves;
  if (run.visit < 0) return;
  const double stored = a_.weights.summed ? 0 : stored_units_;  // in R: P is rounded or loses, not both
  if (a_.weights.summed) {
    for (std::size_t j = run.begin; j < run.end; ++j) leaves.exponent[j] += stored_units_;
  } else if (stored_units_ > 0) {
    for (std::size_t j = run.begin; j < run.end; ++j) leaves.numerator[j] += stored_units_;
    std::fill(leaves.own_numerator.begin() + static_cast<std::ptrdiff_t>(run.begin),
              leaves.own_numerator.begin() + static_cast<std::ptrdiff_t>(run.end), stored_units_);
  }
  const bool quotient_lost = resident_;  // P = e/l is rounded in f32 before it is stored
  if (stored_underflow_ == 0 && !quotient_lost && !unit_ && !a_.values.tf32_inputs) return;
  const Frames frame = frame_of_run(run);
  const Part& part = visits_.parts()[run.part];
  // From the frame that it is stored in to the last one: the frame rises, never falls, and no factor exceeds 1.
  const double last = running_ ? lse_.low() : part.frame_low;
  const int rises = visits_.rises_after(run.visit);
  const double shared = roundings(normalized_ ? rises + 2 : 0);
  const double rescales =
      exponents_.ratio_slope() * std::max(0.0, part.high - frame.low) + (rises + 1) * exponents_.exponential() + shared;
  const double later = resident_  ? sum_bound_
                       : running_ ? std::exp(std::min(frame.high - last, 700.0))
                                  : std::exp(std::min(0.0, frame.high - last + rescales) + shared);
  const double lost = stored_underflow_ * later;
  // What the unit cuts of a subnormal P, and tf32, is the numerator's alone even where the rounded P are summed.
  const double cut =
      ((unit_ ? unit_cut_ * stored_normal_ : 0) + (a_.values.tf32_inputs ? 0x1p-136 / a_.weights.scale : 0)) * later;
  const double quotient = quotient_lost ? product_underflow(a_) * later : 0;
  const double threshold = -std::log(stored_normal_) - 0x1p-20, quotient_threshold = kLogMinNormal - 0x1p-20;
  // −ln of the least the weight may be in that frame.
  const double top = frame.high + common_[run.part] + (resident_ ? std::log(sum_bound_) : 0);
  auto& losses = a_.weights.summed ? leaves.lost : leaves.lost_numerator;
  for (std::size_t j = run.begin; j < run.end; ++j) {
    const double depth = top - (leaves.score[j] - leaves.score_error[j]) + leaves.exponent[j];
    const double here = (depth > threshold ? lost : 0) + (depth > quotient_threshold ? quotient : 0);
    const double units = std::max(0.0, leaves.numerator[j] - stored);
    if (here > 0) losses[j] += rounded_later(here, units);
    if (cut > 0 && depth > threshold) leaves.lost_numerator[j] += rounded_later(cut, units);
  }
}

// What numerator and denominator each pay for the frames after this visit, where they are rescaled on their own. Adds the
// denominator's, returns the numerator's.
double AttentionPaths::charge_frames(RowModel& row, const Run& run) {
  const Frames frame = frame_of_run(run);
  const double exponential = exponents_.exponential();
  double numerator = 0, denominator = 0;
  if (running_) {
    const int later = visits_.after(run.visit).chunks;
    denominator = lse_.step(run.visit).later;
    // C may fall where the logarithm errs below 0: both ways at every step.
    const double height = std::max(0.0, lse_.high() - frame.low) + 2 * row.lag;
    numerator = later == 0 ? 0 : later * exponential + exponents_.ratio_slope() * height;
  } else if (const int rises = visits_.rises_after(run.visit); rises > 0) {
    const double low = run.visit < 0 ? frame.low : visits_.visits()[run.visit].frame_low;
    const double last = row.frame.max + row.frame.error;
    denominator = rises * exponential + exponents_.ratio_slope() * std::max(0.0, last - low);
    // e^{−m} of the frame joined and of the last; those between cancel, each is used twice.
    const double size = std::max(std::fabs(low), std::fabs(last));
    const double joined = run.visit < 0 ? frame.high : visits_.visits()[run.visit].frame_high;
    const double own = std::max(std::fabs(low), std::fabs(joined));
    numerator = 2 * exponential + unshifted_cost(a_, {own}).count + unshifted_cost(a_, {size}).count;
  }
  for (std::size_t j = run.begin; j < run.end; ++j) row.leaves.denominator[j] += denominator;
  longest_frames_ = std::max(longest_frames_, denominator);
  return numerator;
}

// p/l', and the quotient that rescales o: below the normal range once the sum has been divided by up to the keys' number.
void AttentionPaths::charge_quotients(RowModel& row, const Run& run) {
  if (run.visit < 0) return;
  Leaves& leaves = row.leaves;
  const double lost = (1.0 + visits_.after(run.visit).chunks) * product_underflow(a_) * keys_;
  const double top = row.frame.max + row.frame.error;
  const double threshold = kLogMinNormal - 0x1p-20 - std::log(keys_);
  for (std::size_t j = run.begin; j < run.end; ++j) {
    const double depth = top - (leaves.score[j] - leaves.score_error[j]) + leaves.exponent[j];
    if (depth > threshold) leaves.lost_numerator[j] += rounded_later(lost, leaves.numerator[j]);
  }
}

// Independent roundings of the accumulator, and of a lane; truncation has a known sign for its half. Where more than an
// accumulator's roundings enters `numerator` or `denominator` – exponentials and logarithms between them, a reciprocal per
// chunk, partial sums stored and combined – none is taken as random.
void AttentionPaths::add_chance(RowModel& row) const {
  const bool sums_alone = a_.reduction == Reduction::chunk_deferred || a_.reduction == Reduction::row_resident;
  if (!sums_alone || a_.split.parts > 1) {
    row.numerator_square = row.denominator_square = row.drift = 0;
    return;
  }
  const double half = unit_step_ / 2;
  row.numerator_square = longest_rounded_ * kU * kU + longest_steps_ * half * half;
  row.denominator_square = longest_denominator_ * kU * kU;
  const double cut = longest_steps_ * unit_step_ + 2 * tf32_units_;  // of tf32 inputs the sign is known altogether
  // As a share of the whole R, P's rounding included: a key with fewer steps has as much of that, so that the share of its
  // R is no less than the half of its steps.
  const double stored = a_.weights.summed ? 0 : stored_units_;
  const double centred = longest_steps_ * half + roundings(longest_rounded_) + stored;
  row.drift = cut == 0 ? 0 : std::min(1.0, cut / 2 / (cut / 2 + centred));
}

void AttentionPaths::add_underflow(RowModel& row, const RowWeights& weights, const AttentionHead& head,
                                   double normalised, double least_log) const {
  const bool flush = a_.underflow == Underflow::flush;
  const double scale = a_.weights.scale;
  const double eta = product_underflow(a_);
  double products = (unit_ ? 0.0 : keys_) + 5.0 * chunks_;
  if (flush) products += keys_ + 2.0 * (a_.values.chains + 2) * chunks_;
  double sums = products * eta;
  if (unit_) {
    int steps = chunks_;
    for (const Visit& visit : visits_.visits()) steps += visit.steps;
    sums += steps * unit_underflow(a_.values.unit);
  }
  // P's scale is taken off where a chunk ends, if that normalises: what follows is in units of 1.
  const double ended = normalized_ ? (flush ? 15.0 : 5.0) * chunks_ : 0;
  sums = sums / scale + (scale != 1 ? eta * (chunks_ + ended) : 0);
  // Errors of v itself, beside the weights' sum: flushed; cut to tf32; a unit's exponent of a subnormal.
  double value = flush ? kMinNormal : 0;
  if (a_.values.tf32_inputs) value += 0x1p-136;
  if (unit_ && head.v_tiny) value += unit_cut_ * min_normal(value_format_);
  const double sum = std::exp(std::min(weights.log_sum, 700.0));
  const double product = unit_ && head.v_tiny ? unit_cut_ * min_normal(value_format_) * stored_normal_ * keys_ : 0;
  const bool divided = normalized_ || resident_ || parts_ > 1;
  const double part = std::exp(std::min(least_log, 700.0));
  const double lost =
      part * (sums * (divided ? std::max(1.0, weights.sum) : 1) + product * std::max(1.0, sum)) + value * sum;
  row.numerator_underflow = rounded_later(lost, longest_) + (weights.sum > 0 ? normalised * weights.sum : normalised);
}

}  // namespace flashproof::bound
