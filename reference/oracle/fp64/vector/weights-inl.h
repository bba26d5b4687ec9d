// From scores to weights w_j = e^(s_j − m), their radii ρ_j, and the sums over one chunk. Letters: README.md, "Attention".
// To be included from a file that foreach_target.h compiles once per target. All sums run over 32 virtual lanes (key
// mod 32), whatever the width of a vector: the same bits on every target.

#include <algorithm>

#include "hwy/highway.h"
#include "reference/oracle/fp64/head_chunk.h"
#include "reference/oracle/fp64/vector/exp-inl.h"
#include "reference/oracle/fp64/vector/scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flashproof::attention64::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

inline constexpr double kEntryScale = 0x1p40;
/// A scaled entry below this is left to `tiny`: a float holds no less with full precision.
inline constexpr double kTinyEntry = 0x1p-100;
/// Bounds of weights that are taken for 0: e^-700 < 2^-1000, e^-60 < 2^-86.
inline constexpr double kVanished = 0x1p-1000, kSmall = 0x1p-86;
/// No exponent of a weight is above it: more than `growth`, and all that the float product has room for.
inline constexpr double kHighest = 17;

struct WeightSums {
  double total = 0;    // Σ w
  double radius = 0;   // Σ ρ but for the star's
  double entries = 0;  // Σ of the scaled entries
  double tiny = 0;     // Σ of the entries, not scaled, that are 0 in `entries`
  double score_error = 0;
  double star_weight = 0, star_radius = 0;  // of the chunk's star
  bool failed = false;
};

struct WeightInput {
  RowScores scores;
  double m;
  double anchor_error;
  bool anchored;          // the star is the anchor: its weight is 1
  std::int64_t star;      // index of the chunk's largest score
  double value_rounding;  // h_N u
  double certificate;
};

/// Tree over the 32 virtual lanes.
inline double sum_lanes(double* lane) {
  for (std::int64_t half = kTerms / 2; half > 0; half /= 2) {
    for (std::int64_t i = 0; i < half; ++i) lane[i] += lane[i + half];
  }
  return lane[0];
}

/// Writes weights over the dot products and entries beside them, in the blocks of kTerms keys that [first, last) touches.
template <bool kOffsets>
HWY_INLINE WeightSums weigh(const WeightInput& in, const AttentionTerms& terms, float* HWY_RESTRICT entries) {
  const Tag d;
  const hn::Rebind<float, Tag> df;
  constexpr auto kStep = static_cast<std::int64_t>(hn::MaxLanes(Tag()));
  const RowScores& row = in.scores;
  const auto zero = hn::Zero(d);
  const auto first = hn::Set(d, static_cast<double>(row.first));
  const auto last = hn::Set(d, static_cast<double>(row.last));
  const auto star = hn::Set(d, static_cast<double>(in.star));
  const auto forced = hn::Set(d, static_cast<double>(in.anchored ? in.star : -1));
  const auto alpha = hn::Set(d, row.alpha);
  const auto minus_m = hn::Set(d, -in.m);
  const auto dot_error = hn::Set(d, row.dot_error);
  const auto quanta = hn::Set(d, row.quanta);
  const auto certificate = hn::Set(d, in.certificate);
  const auto anchor_error = hn::Set(d, in.anchor_error);
  const auto argument_term = hn::Set(d, terms.argument);
  const auto exp_term = hn::Set(d, terms.exp * kExpError);
  const auto vanished = hn::Set(d, terms.vanished * kVanished);
  const auto small = hn::Set(d, terms.vanished * kSmall);
  const auto lowest = hn::Set(d, kExpLowest);
  const auto quarter = hn::Set(d, 0.25);
  const auto value_rounding = hn::Set(d, in.value_rounding);
  const auto scale = hn::Set(d, kEntryScale);
  const auto least = hn::Set(d, kTinyEntry);
  HWY_ALIGN double total[kTerms] = {}, radius[kTerms] = {}, kept[kTerms] = {}, tiny[kTerms] = {};
  auto score_error = zero, star_radius = zero;
  bool failed = false;

  for (std::int64_t block = row.first / kTerms * kTerms; block < row.last; block += kTerms) {
    for (std::int64_t lane = 0; lane < kTerms; lane += kStep) {
      const std::int64_t j = block + lane;
      const auto key = hn::Iota(d, static_cast<double>(j));
      auto visible = hn::And(hn::Ge(key, first), hn::Lt(key, last));
      const auto dot = hn::Load(d, row.dot + j);
      // x + (rests) = α·dot + offset − m exactly.
      const auto p = hn::Mul(alpha, dot);
      const auto p_rest = hn::MulSub(alpha, dot, p);
      auto c = minus_m, x_rest = zero;
      auto other_error = anchor_error;
      if constexpr (kOffsets) {
        const auto offset = hn::Load(d, row.offset + j);
        visible = hn::And(visible, hn::Gt(offset, hn::Set(d, kMinusInfinity)));
        auto c_rest = zero;
        c = two_sum(offset, minus_m, c_rest);
        other_error = hn::Add(other_error, hn::MulAdd(argument_term, hn::Abs(c_rest), hn::Load(d, row.error + j)));
      }
      const auto x = two_sum(p, c, x_rest);
      const auto inexact = hn::Gt(hn::Mul(quanta, hn::Load(d, row.k_quanta + j)), certificate);
      const auto from_dot = hn::IfThenElseZero(inexact, hn::Mul(dot_error, hn::Load(d, row.k_norm + j)));
      const auto e = hn::Add(hn::MulAdd(argument_term, hn::Abs(hn::Add(x_rest, p_rest)), from_dot), other_error);

      auto w = flashproof::HWY_NAMESPACE::Exp(d, hn::Max(x, lowest));
      const auto exp_error = hn::IfThenElseZero(hn::Ne(x, zero), exp_term);  // Exp(0) is 1
      auto rho = hn::Mul(w, hn::MulAdd(e, e, hn::Add(e, exp_error)));
      const auto is_forced = hn::Eq(key, forced);
      w = hn::IfThenElse(is_forced, hn::Set(d, 1.0), w);
      rho = hn::IfThenZeroElse(is_forced, rho);
      auto bounded = hn::And(hn::Ge(x, lowest), hn::Lt(e, quarter));
      // Beside an offset x may have no error and lie far above m all the same: 2^63 + 1024 rounds to m = 2^63, and x,
      // summed in another order, is 1024.
      if constexpr (kOffsets) bounded = hn::And(bounded, hn::Le(x, hn::Set(d, kHighest)));
      const auto dead = hn::AndNot(hn::Or(bounded, is_forced), visible);
      if (HWY_UNLIKELY(!hn::AllFalse(d, dead))) {
        const auto most = hn::MulAdd(e, hn::Set(d, kInflation), x);  // e has rounded, and may be as large as |x|
        const auto gone = hn::Le(most, hn::Set(d, -700.0));
        const auto low = hn::Le(most, hn::Set(d, -60.0));
        failed = failed || !hn::AllFalse(d, hn::AndNot(low, dead));
        w = hn::IfThenZeroElse(dead, w);
        rho = hn::IfThenElse(dead, hn::IfThenElse(gone, vanished, small), rho);
      }
      w = hn::IfThenElseZero(visible, w);
      rho = hn::IfThenElseZero(visible, rho);
      score_error = hn::Max(score_error, hn::IfThenElseZero(hn::AndNot(is_forced, hn::Gt(w, zero)), e));

      const auto is_star = hn::Eq(key, star);
      star_radius = hn::Max(star_radius, hn::IfThenElseZero(is_star, rho));
      rho = hn::IfThenZeroElse(is_star, rho);
      const auto entry = hn::IfThenZeroElse(is_star, hn::MulAdd(value_rounding, w, rho));
      const auto scaled = hn::Mul(entry, scale);
      const auto is_tiny = hn::Lt(scaled, least);
      const auto stored = hn::IfThenZeroElse(is_tiny, scaled);
      hn::Store(hn::DemoteTo(df, stored), df, entries + j);
      hn::Store(hn::Add(hn::Load(d, kept + lane), stored), d, kept + lane);
      hn::Store(w, d, row.dot + j);
      hn::Store(hn::Add(hn::Load(d, total + lane), w), d, total + lane);
      hn::Store(hn::Add(hn::Load(d, radius + lane), rho), d, radius + lane);
      hn::Store(hn::Add(hn::Load(d, tiny + lane), hn::IfThenElseZero(is_tiny, entry)), d, tiny + lane);
    }
  }

  HWY_ALIGN double lanes[kStep], star_lanes[kStep];
  hn::Store(score_error, d, lanes);
  hn::Store(star_radius, d, star_lanes);
  WeightSums sums;
  sums.total = sum_lanes(total);
  sums.radius = sum_lanes(radius);
  sums.entries = sum_lanes(kept);
  sums.tiny = sum_lanes(tiny);
  sums.score_error = *std::max_element(lanes, lanes + kStep);
  sums.star_weight = row.dot[in.star];
  sums.star_radius = *std::max_element(star_lanes, star_lanes + kStep);
  sums.failed = failed;
  return sums;
}

}  // namespace flashproof::attention64::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
