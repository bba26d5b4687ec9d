#include "reference/bound/attention/attention_paths.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "reference/bound/costs.h"
#include "reference/bound/row/row_weights.h"

namespace flashproof::bound {

AttentionPaths::AttentionPaths(const AttentionProblem& p, const Arithmetic& a, const ScoreScale& scale)
    : a_(a),
      scale_(scale),
      exponents_(a, scale),
      visits_(p, a, scale),
      lse_(a, exponents_.ratio_slope()),
      value_format_(p.v.format),
      stored_narrow_(p.output_format() != Format::f32 || !p.v_descale.shape.empty()),
      resident_(a.reduction == Reduction::row_resident),
      normalized_(a.reduction == Reduction::chunk_normalized || a.reduction == Reduction::chunk_recap),
      recap_(a.reduction == Reduction::chunk_recap),
      separated_(a.separated_exponent),
      running_(a.reduction == Reduction::lse_running),
      unit_(a.values.unit.k > 0),
      parts_(a.split.parts),
      tree_(unit_ ? 0 : log2_ceil(a.values.chains)),
      butterfly_(log2_ceil(a.lanes)),
      chunks_(static_cast<int>(visits_.chunks())),
      common_(a.split.parts),
      own_frame_(a.split.parts) {
  const StoredWeights& stored = a.weights;
  const bool narrow = stored.format != Format::f32;
  stored_units_ = narrow ? std::log1p(unit_roundoff(stored.format)) : 0;
  stored_normal_ = min_normal(stored.format) / stored.scale;
  if (narrow) {
    stored_underflow_ =
        (min_subnormal(stored.format) / 2 + (a.underflow == Underflow::flush ? kMinNormal : 0)) / stored.scale;
  } else if (stored.scale < 1) {
    stored_underflow_ = product_underflow(a) / stored.scale;
  }
  if (stored.summed) stored_underflow_ += stored_underflow_ > 0 ? product_underflow(a) : 0;
  if (a.values.tf32_inputs) {
    const int cut = (fraction_bits(stored.format, false) > 10) + (fraction_bits(value_format_, false) > 10);
    tf32_units_ = -cut * std::log1p(-0x1p-10);
  }
  if (unit_) {
    const bool tf32 = a.values.tf32_inputs;
    const int bits = fraction_bits(stored.format, tf32) + fraction_bits(value_format_, tf32);
    // The accumulator has been rescaled in f32, unless it begins with 0.
    const int accumulator = a.values.promote > 0 || normalized_ || resident_ ? a.values.unit.ofb : 23;
    unit_step_ = unit_step(a.values.unit, bits, accumulator);
    unit_cut_ = std::ldexp(a.values.unit.k + 1, -a.values.unit.f);
  }
  if (a.ending == Ending::multiply_reciprocal) {
    reciprocal_ = a.reciprocal_error == 0 ? roundings(1) : -std::log1p(-a.reciprocal_error);
  }
}

template <class Do>
void AttentionPaths::for_each_run(const RowModel& row, Do&& act) const {
  if (row.leaves.key[0] < 0) act(Run{-1, 0, 0, 1});
  const auto& visits = visits_.visits();
  for (int part = 0; part < parts_; ++part) {
    const Part& of = visits_.parts()[part];
    for (int n = of.begin; n < of.end; ++n) {
      if (visits[n].keys > 0) act(Run{n, part, visits[n].begin, visits[n].end});
    }
  }
}

AttentionPaths::Frames AttentionPaths::frame_of_run(const Run& run) const {
  if (running_) return {lse_.step(run.visit).low, lse_.step(run.visit).high};
  const Part& first = visits_.parts().front();
  if (run.visit < 0) return {first.low, first.high};
  const Visit& visit = visits_.visits()[run.visit];
  return normalized_ ? Frames{visit.low, visit.high} : Frames{visit.frame_low, visit.frame_high};
}

// Weights of one frame share the rounding of f·ĉ. Either the last frame is the reference – its weights pay nothing, the
// others for both, κ is its error – or every weight pays for its own and there is no κ (README.md, section 3). The
// first is better where the last frame's weights carry the row; the choice may be any.
void AttentionPaths::settle_frames(const RowModel& row) {
  std::ranges::fill(common_, 0.0);
  std::ranges::fill(own_frame_, 0);
  overshoot_ = in_octaves(visits_.lag());
  if (!exponents_.rounds_frame()) return;
  std::vector<double> balance(parts_);
  Nats largest;  // head-room must hold in every frame, those the row leaves again too
  for_each_run(row, [&](const Run& run) {
    const Frames frame = frame_of_run(run);
    largest = std::max(largest, exponents_.frame_error({frame.low}, {frame.high}));
    const bool final = run.visit < 0 ? resident_ : visits_.visits()[run.visit].final;
    const double weight = sum_of_weights(&row.leaves.score[run.begin], run.end - run.begin, row.frame.max);
    balance[run.part] += final ? weight : -weight;
  });
  for (int part = 0; part < parts_; ++part) {
    const Part& at = visits_.parts()[part];
    if (at.keys == 0) continue;
    const Nats error = exponents_.frame_error({at.frame_low}, {at.frame_high});
    const bool holds_pivot = row.frame.pivot >= 0 && visits_.part_of(row.frame.pivot) == part;
    // Unfused, the largest score minus itself is 0: it needs no reference.
    own_frame_[part] = balance[part] < 0 || (a_.exponent == Exponent::unfused && holds_pivot) ? 1 : 0;
    if (a_.visits == BlockOrder::any) own_frame_[part] = 1;
    common_[part] = own_frame_[part] != 0 ? 0 : error.count;
    // The choice depends on the order: in any order both are paid, so that no order's bound is larger.
    if (a_.visits == BlockOrder::any) common_[part] = error.count;
    largest = std::max(largest, error);
  }
  overshoot_ += in_octaves(largest);
}

void AttentionPaths::charge_exponents(RowModel& row, const Run& run) {
  const auto pivot = static_cast<std::size_t>(std::max<std::ptrdiff_t>(row.frame.pivot, 0));
  if (row.frame.pivot < 0 || pivot < run.begin || pivot >= run.end) {
    return charge_exponents(row, run, run.begin, run.end, false);
  }
  charge_exponents(row, run, run.begin, pivot, false);
  charge_exponents(row, run, pivot, pivot + 1, true);
  charge_exponents(row, run, pivot + 1, run.end, false);
}

void AttentionPaths::charge_exponents(RowModel& row, const Run& run, std::size_t begin, std::size_t end, bool pivot) {
  const double lag = visits_.lag().count;
  if (pivot && lag == 0 && a_.exponent != Exponent::fused) {  // every argument on its path is 0
    row.leaves.exponent[begin] = 0;
    return;
  }
  const Part& part = visits_.parts()[run.part];
  const bool sink = run.visit < 0;
  const Frames frame = frame_of_run(run);
  const int rises = visits_.rises_after(run.visit);
  const bool below = normalized_ && !a_.per_key && !sink && visits_.visits()[run.visit].below;
  // Where numerator and denominator are rescaled on their own, charge_sums() has the rises.
  const bool apart = separated_ || running_;
  const int exps = (sink && !resident_ ? 0 : 1) + (below ? 1 : 0) + (apart ? 0 : rises);
  // a = l·α multiplies the old sum and the old output alike, and in recap a = L_i·e^{ΔC_i} the chunk's.
  const int shared = normalized_ && !apart ? rises + (recap_ && below ? 1 : 0) : 0;
  // Running, O has a factor of its own for each chunk.
  const int factors = exps + shared + (running_ ? visits_.after(run.visit).chunks : 0);

  Exponents::Weight weight{.slope = exponents_.ratio_slope(), .once = 0, .per_size = 0, .constant = 0};
  double largest = 0;                   // ln of the weight that a factor which loses multiplies, at most
  double common = 0, common_error = 1;  // on the way to the threshold: constant, per unit of the argument's error
  if (exponents_.rounds_frame() && !(sink && !resident_)) {
    const Nats frame_error = exponents_.frame_error({frame.low}, {frame.high});
    const double own = frame_error.count;
    const bool final = sink || visits_.visits()[run.visit].final;
    largest = std::min(own, 500.0);
    common = own_frame_[run.part] == 0 && final ? 0 : own + common_[run.part];
    weight = exponents_.weight(frame_error);
    weight.constant += common;
    common += common_[run.part];
    common_error = 0;
  } else if (exponents_.rounds_frame()) {
    weight.constant = common_[run.part];  // its weight is 1, whatever the frame
  }
  const double last = running_ ? lse_.high() : parts_ == 1 ? row.frame.max + row.frame.error : part.high;
  // Apart: as far as the frame that both sums see.
  const double entered = sink || !separated_ ? frame.high : visits_.visits()[run.visit].frame_high;
  const double top = apart ? std::min(last, entered) : last, beyond = last - top;
  const double path_share = pivot ? 0 : 1;
  const double pivot_error = row.frame.pivot_error;
  const double own_exponential = exps > 0 ? exponents_.exponential() : 0;
  const double fixed = exps * exponents_.exponential() + roundings(shared);
  const double own_slope = exponents_.own_slope();
  const double above = frame.low, high = frame.high, max = row.frame.max;
  const double has_frame = normalized_ ? 0 : 1;  // normalised: the frame is the chunk's own
  const double threshold = kLogMinNormal - 0x1p-20;
  const std::size_t n = end - begin;
  depth_.resize(std::max(depth_.size(), n));
  const double* __restrict const score = &row.leaves.score[0] + begin;
  const double* __restrict const score_error = &row.leaves.score_error[0] + begin;
  double* __restrict const exponent = &row.leaves.exponent[0] + begin;
  double* __restrict const own = &row.leaves.own[0] + begin;
  double* __restrict const depth = depth_.data();
  std::int64_t deep = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const double s = score[j], d = score_error[j];
    const double path = path_share * (top - s + d);
    const double error = weight.error(path + 2 * lag, has_frame * (above - (s + d)), std::fabs(s) + d);
    exponent[j] = (error + fixed + 0x1p-50 * (max - s)) * kSlack;
    // Own: the argument and the exponential that made the weight; later rescales are shared.
    const double reach = high - s + d;
    const double upward = reach > 0 ? reach : 0;
    const double own_path = upward < path ? upward : path;
    const double all = exponent[j] + path_share * (d + pivot_error);
    const double alone = own[j] + own_slope * own_path + own_exponential;
    own[j] = alone < all ? alone : all;
    depth[j] = path + beyond + lag + all + common + common_error * error;
    deep |= depth[j] >= threshold ? 1 : 0;
  }
  if (deep == 0) return;
  const double lost =
      factors * exp_underflow(a_) * std::exp(2 * a_.exp_error * factors + roundings(shared) + lag + largest);
  for (std::size_t j = 0; j < n; ++j) row.leaves.lost[begin + j] = depth[j] >= threshold ? lost : 0;
}

void AttentionPaths::charge(RowModel& row, const AttentionHead& head) {
  Leaves& leaves = row.leaves;
  if (visits_.walk(leaves, head.keys)) count_places(leaves);
  keys_ = static_cast<int>(leaves.size());
  longest_ = 0;
  longest_rounded_ = longest_steps_ = longest_denominator_ = longest_frames_ = 0;
  if (resident_) {  // l at most: every weight is at most 1, but for κ and what an exponential errs
    const double sum = sum_of_weights(leaves.score, row.frame.max);
    const double doubt = 2 * row.frame.error + *std::ranges::max_element(leaves.score_error);
    sum_bound_ = std::min<double>(keys_, sum * std::exp(std::min(doubt, 700.0)));
  }
  settle_frames(row);
  if (resident_) {  // below inf, which times an error of 0 would be no number: no head-room is left by then
    sum_bound_ *= std::exp(common_[0] + in_nats(overshoot_).count) * (1 + 2 * a_.exp_error) * later(keys_);
    sum_bound_ = std::min(sum_bound_, 1e300);
  }
  row.common = parts_ == 1 ? common_[0] : 0;
  row.lag = visits_.lag().count;
  if (running_) {
    // lse is the frame's floor, not the maximum; and no score is exactly the frame.
    row.frame.pivot = -1;
    row.frame.pivot_error = 0;
    row.frame.error = *std::ranges::max_element(leaves.score_error);
    lse_.follow(leaves, visits_, static_cast<int>(std::ranges::max(lane_count_)));
    row.lead = std::max(0.0, lse_.high() - row.frame.max + row.frame.error);
    row.lag = std::max(0.0, row.frame.max + row.frame.error - lse_.low());
  }
  for_each_run(row, [&](const Run& run) {
    charge_exponents(row, run);
    charge_sums(row, run);
    if (separated_) charge_quotients(row, run);
    charge_stored(row, run);
  });
  add_chance(row);
  // Every lane's share is rescaled on its own, and may be small: l·α underflows once per lane and chunk.
  const double flushed = a_.underflow == Underflow::flush ? 2.0 * keys_ : 0;
  row.denominator_underflow = (a_.lanes * chunks_ + flushed) * product_underflow(a_);
  // α, or e^{lse − C'}, beside a sum that a narrow α multiplies by up to the number of keys.
  const double rescaled = separated_ ? static_cast<double>(keys_) * chunks_ : running_ ? 2.0 * chunks_ : 0;
  row.denominator_underflow += rescaled * exp_underflow(a_);
  row.denominator_underflow =
      rounded_later(row.denominator_underflow, roundings(longest_denominator_) + longest_frames_);
}

}  // namespace flashproof::bound
