#include "reference/bound/attention/attention_domain.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "reference/bound/costs.h"

namespace flashproof::bound {

namespace {

constexpr double kExponentRange =
    128;  // octaves above which exp2 is infinite, and the largest its error is declared for
constexpr double kNormalOctaves = 126;

/// e^{−m} of every frame, and its products with sums of up to as many as the keys seen: finite and normal, or the form
/// breaks. l' stands beside the e^{−m} of the frame before, which is the larger one.
void separated_preconditions(const Arithmetic& a, const Visits& visits, double lse, std::vector<Precondition>& list) {
  const Part& part = visits.parts().front();
  double keys = part.sink ? 1 : 0;
  double lowest = part.sink ? part.sink_low : kF32Max;
  double above = part.sink ? -lowest : -kF32Max;
  for (const Visit& visit : visits.visits()) {
    if (visit.keys == 0) continue;
    keys += visit.keys;
    lowest = std::min(lowest, visit.frame_low);
    const double sum = std::min(std::log(keys), lse - visit.frame_low + (visit.frame_high - visit.frame_low));
    above = std::max(above, sum - lowest);
    lowest = visit.frame_low;
  }
  const auto doubt = [&](double m) { return 4 * a.exp_error + unshifted_cost(a, {m}).count + 0x1p-10; };
  list.push_back({kSeparatedAbove, above + doubt(above), kLogF32Max, false});
  list.push_back({kSeparatedBelow, part.high + doubt(part.high), kLogMinNormal, false});
}

}  // namespace

void score_preconditions(const ScoreScale& scale, const ScoreRange& range, const Precondition& query,
                         std::vector<Precondition>& list) {
  list.push_back({kScoreDomain, range.largest.count, kF32Max});
  if (scale.tau_largest > 0) {
    list.push_back({"scale times its descale factors below the f32 range", scale.tau_largest, kF32Max});
  }
  // An infinite one times a dot product of 0 is NaN.
  if (scale.tau_per_cap > 0) list.push_back({"scale over softcap below the f32 range", scale.tau_per_cap, kF32Max});
  if (range.lost && scale.tau_error > 0) {  // 0·inf is NaN
    list.push_back({"error of the scale beside an infinite dot product", scale.tau_error, 1});
  }
  if (query.value > 0) list.push_back(query);
}

void row_preconditions(const Arithmetic& a, const ScoreScale& scale, const ScoreRange& range, const Precondition& query,
                       const AttentionPaths& paths, const RowWeights& weights, std::vector<Precondition>& list) {
  score_preconditions(scale, range, query, list);
  const bool folded = paths.exponents().rounds_frame() || a.exponent == Exponent::subtract_then_scale;
  if (a.unit == ScoreUnit::raw && folded) {
    const double c = std::fabs(scale.c_hat.factor), doubt = std::min(1.0, scale.unit_error) + 0x1p-20;
    list.push_back({"folded scale below the f32 range", c * (1 + doubt), kF32Max});
    list.push_back({"folded scale above the subnormal range", 0x1p-126, c * std::max(0.0, 1 - doubt)});
  }
  if (a.unit == ScoreUnit::raw &&
      a.underflow == Underflow::flush) {  // divides bias, slope and sink, multiplies lse's frame
    list.push_back({"unit of raw scores above the subnormal range", 0x1p-126,
                    scale.unit.factor * std::max(0.0, 1 - scale.unit_error - 0x1p-20)});
  }
  // Before the scale: one that overflows would lose a key that a small scale brings back into reach. (Above kReach, and
  // with natural ones, it loses keys without a weight: F32Max is then 256 octaves at least.)
  constexpr double kReach = 0x1p-120;  // of ĉ, as kernels see it
  if (a.unit == ScoreUnit::raw && std::fabs(scale.c_hat.factor) < kReach) {
    list.push_back({kRawDifferences, scale.unit.inverse(range.apart).count, kF32Max});
  }
  const Octaves overshoot = paths.overshoot();  // octaves by which a weight may exceed 1, or fall below it by κ
  if (paths.exponents().rounds_frame() || a.lse_form == LseForm::base2) {
    list.push_back({"scaled scores below the f32 range",
                    range.natural.count * (1 + scale.unit_error) * std::numbers::log2e * (1 + 0x1p-20), kF32Max});
  }
  const double below = (overshoot - in_octaves(paths.visits().lag())).count;  // κ alone
  if (overshoot.count > 0) {
    list.push_back({"head-room above: octaves of the largest weights",
                    overshoot.count + std::log2(weights.p.size()) + 1, kExponentRange});
  }
  if (below > 0) {
    list.push_back({"head-room below: octaves that the largest weight may lose", below + 1, kNormalOctaves});
  }
  if (a.separated_exponent) separated_preconditions(a, paths.visits(), weights.lse, list);
  const Format stored = a.weights.format;
  if (stored != Format::f32 || a.weights.scale != 1) {
    const double scaled = std::log2(a.weights.scale);
    const bool normalised = a.reduction == Reduction::row_resident;
    const double most = a.weights.scale * std::exp2(normalised ? 0 : std::min(overshoot.count, 1000.0));
    list.push_back({"weights below the largest number of P's format", most * (1 + 2 * a.exp_error),
                    info(stored).max_finite * (1 + unit_roundoff(stored))});
    if (below > 0) {
      list.push_back({"head-room below: octaves from P's largest weight to its format's smallest number", below + 1,
                      scaled - std::log2(min_subnormal(stored))});
    }
  }
}

AccumulatorRange accumulator_range(const Arithmetic& a, const AttentionPaths& paths, double value_factor, double keys,
                                   double ended) {
  // Every weight is at most 1 in its frame, but for what overshoots. The scale of P is taken off before the ending, so the
  // sum is held with it and without it.
  const double weight = std::exp2(std::min(paths.overshoot().count, 1000.0)) * std::max(a.weights.scale, 1.0);
  AccumulatorRange range;
  // Fused, the largest weight errs by its exponential; and P is rounded, also beside an l that is not.
  const double rounded = (1 + paths.accumulated()) * (1 + unit_roundoff(a.weights.format));
  range.sum = keys * std::max(weight, 1.0) * rounded * (rounds_frame(a) ? 1 + 2 * a.exp_error : 1);
  const Format partial = a.split.parts > 1 ? a.split.partial_o : Format::f32;
  const double factor = a.split.parts > 1 ? std::fabs(value_factor) : 1;
  if (partial != Format::f32 || factor > 1) {
    // A part's o is a mean of the v; un-normalised it is a sum. It is stored times v_descale.
    range.stored = factor * (a.split.weights == MergeWeights::max_sum ? range.sum : rounded * (1 + ended));
    // A flat combination adds them up, each times a weight of 1 at most.
    const double added = a.split.combine == Reduction::flat ? a.split.parts : 1;
    range.stored_limit = std::min(info(partial).max_finite, kF32Max / added);
  }
  return range;
}

Precondition AccumulatorRange::at(double largest_value) const {
  if (stored / stored_limit > sum / kF32Max) {
    return {"partial results below their format's range", stored * largest_value, stored_limit};
  }
  return {kAccumulatorDomain, sum * largest_value, kF32Max};
}

}  // namespace flashproof::bound
