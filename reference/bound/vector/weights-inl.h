// weigh_leaf() of row_weights.h, eight leaves at a time: e^x is the oracle's (proven to 2 u), e^x − 1 its series to the
// sixth order, whose rest is below x^6/7! < 2^-36 of it for x <= 1/16. To be included from a file that foreach_target.h
// compiles once per target.
#if defined(FLASHPROOF_BOUND_WEIGHTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHPROOF_BOUND_WEIGHTS_INL_H_
#undef FLASHPROOF_BOUND_WEIGHTS_INL_H_
#else
#define FLASHPROOF_BOUND_WEIGHTS_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "reference/bound/row/row_weights.h"
#include "reference/oracle/fp64/vector/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flashproof::bound::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::CappedTag<double, 8>;
using DoubleVec = hn::Vec<Doubles>;
inline constexpr std::int64_t kLanes = static_cast<std::int64_t>(hn::MaxLanes(Doubles()));
inline constexpr std::int64_t kParts = 8 / kLanes;

/// Sums over eight virtual lanes, so that every target adds in the same order.
struct LaneSum {
  DoubleVec part[kParts];

  HWY_INLINE LaneSum() {
    for (auto& x : part) x = hn::Zero(Doubles());
  }
  HWY_INLINE double sum() const {
    double lane[8];
    store(lane);
    for (int half = 4; half > 0; half /= 2) {
      for (int i = 0; i < half; ++i) lane[i] += lane[i + half];
    }
    return lane[0];
  }
  HWY_INLINE double largest() const {
    double lane[8];
    store(lane);
    return *std::max_element(lane, lane + 8);
  }

 private:
  HWY_INLINE void store(double* lane) const {
    for (std::int64_t p = 0; p < kParts; ++p) hn::StoreU(part[p], Doubles(), lane + p * kLanes);
  }
};

inline double weight_sum(const double* score, std::int64_t n, double max) {
  const Doubles d;
  const auto deepest = hn::Set(d, kDeepest);
  LaneSum sum;
  for (std::int64_t j = 0; j < n; j += 8) {
    for (std::int64_t part = 0; part < kParts; ++part) {
      const auto x = hn::Sub(hn::LoadU(d, score + j + part * kLanes), hn::Set(d, max));
      const auto w = flashproof::HWY_NAMESPACE::Exp(d, hn::Max(x, deepest));
      sum.part[part] = hn::Add(sum.part[part], hn::IfThenElseZero(hn::Ge(x, deepest), w));
    }
  }
  return sum.sum();
}

/// e^x − 1 for 0 <= x <= kSmallLog, to 2^-35 of it.
HWY_INLINE DoubleVec small_expm1(DoubleVec x) {
  const Doubles d;
  auto y = hn::Set(d, 1.0 / 720);
  y = hn::MulAdd(y, x, hn::Set(d, 1.0 / 120));
  y = hn::MulAdd(y, x, hn::Set(d, 1.0 / 24));
  y = hn::MulAdd(y, x, hn::Set(d, 1.0 / 6));
  y = hn::MulAdd(y, x, hn::Set(d, 0.5));
  return hn::MulAdd(hn::Mul(y, x), x, x);
}

/// x − x²/2 + x³/6 >= 1 − e^−x, by less than x³/24 of it.
HWY_INLINE DoubleVec small_loss(DoubleVec x) {
  const Doubles d;
  const auto y = hn::MulAdd(x, hn::Set(d, 1.0 / 6), hn::Set(d, -0.5));
  return hn::MulAdd(hn::Mul(y, x), x, x);
}

inline std::int64_t weigh(const RowModel& row, const WeightScale& scale, std::int64_t n, RowWeights& to,
                          WeightSums& sums, std::int64_t* left) {
  const Doubles d;
  const Leaves& leaves = row.leaves;
  const auto max = hn::Set(d, scale.max);
  const auto deepest = hn::Set(d, kDeepest);
  const auto small = hn::Set(d, kSmallLog / kSlack);
  const auto inverse = hn::Set(d, 1 / scale.sum);
  const auto lost_scale = hn::Set(d, 1 / scale.unit * kSlack);
  const auto pivot_error = hn::Set(d, scale.pivot_error);
  const auto slack = hn::Set(d, kSlack);
  const auto less = hn::Set(d, 1 / kSlack);
  const auto doubt = hn::Set(d, 0x1p-24 * (1 + 0x1p-20));  // e^x − 1 <= (1 + 2^-20) x for x = 2^-24 D <= 2^-21
  const auto evaluation = hn::Set(d, scale.evaluation);
  const auto zero = hn::Zero(d);
  const auto one = hn::Set(d, 1.0);
  const std::int64_t pivot = row.frame.pivot;
  const bool finite_lost = 1 / scale.unit < 0x1p900;
  LaneSum q_sum, low, loss, shrink, swell, own_square, coherent, rest, longest_g, longest_r, longest_error;
  std::int64_t skipped = 0;
  for (std::int64_t j = 0; j < n; j += 8) {
    bool plain = finite_lost && (pivot < j || pivot >= j + 8);
    for (std::int64_t part = 0; part < kParts && plain; ++part) {
      const std::int64_t at = j + part * kLanes;
      const auto exponent =
          hn::Add(hn::Add(hn::LoadU(d, &leaves.score_error[at]), pivot_error), hn::LoadU(d, &leaves.exponent[at]));
      const auto longest = hn::Max(hn::LoadU(d, &leaves.denominator[at]), exponent);
      const auto x = hn::Sub(hn::LoadU(d, &leaves.score[at]), max);
      plain = hn::AllTrue(d, hn::And(hn::Le(longest, small), hn::Ge(x, deepest)));
    }
    if (!plain) {
      left[skipped++] = j;
      continue;
    }
    for (std::int64_t part = 0; part < kParts; ++part) {
      const std::int64_t at = j + part * kLanes;
      const auto error = hn::Add(hn::LoadU(d, &leaves.score_error[at]), pivot_error);
      const auto exponent = hn::Mul(hn::Add(error, hn::LoadU(d, &leaves.exponent[at])), slack);
      const auto lost = hn::Mul(hn::LoadU(d, &leaves.lost[at]), lost_scale);
      const auto x = hn::Sub(hn::LoadU(d, &leaves.score[at]), max);
      const auto p = hn::Mul(flashproof::HWY_NAMESPACE::Exp(d, x), inverse);
      const auto q = hn::Mul(hn::MulAdd(p, small_expm1(exponent), lost), slack);
      const auto missing = hn::Min(hn::MulAdd(p, small_loss(exponent), lost), p);
      const auto least = hn::Mul(hn::Sub(p, missing), less);
      hn::StoreU(p, d, &to.p[at]);
      hn::StoreU(q, d, &to.q[at]);
      hn::StoreU(least, d, &to.least[at]);
      hn::StoreU(hn::Min(hn::Mul(p, hn::MulAdd(error, doubt, evaluation)), one), d, &to.slop[at]);

      const auto g = hn::LoadU(d, &leaves.denominator[at]);
      const auto own = hn::Mul(p, hn::LoadU(d, &leaves.own[at]));
      const auto most = hn::Add(p, q);
      const auto grown = hn::Mul(hn::Mul(most, small_expm1(g)), slack);
      q_sum.part[part] = hn::Add(q_sum.part[part], q);
      low.part[part] = hn::Add(low.part[part], least);
      loss.part[part] = hn::Add(loss.part[part], missing);
      shrink.part[part] = hn::MulAdd(most, small_loss(g), shrink.part[part]);
      swell.part[part] = hn::Add(swell.part[part], grown);
      rest.part[part] = hn::Add(rest.part[part], hn::Max(zero, hn::NegMulAdd(p, g, grown)));
      own_square.part[part] = hn::MulAdd(own, own, own_square.part[part]);
      coherent.part[part] = hn::Add(coherent.part[part], hn::Max(zero, hn::Sub(q, own)));
      longest_error.part[part] = hn::Max(longest_error.part[part], error);
      longest_g.part[part] = hn::Max(longest_g.part[part], g);
      longest_r.part[part] = hn::Max(longest_r.part[part], hn::LoadU(d, &leaves.numerator[at]));
    }
  }
  sums = {.q = q_sum.sum(),
          .low = low.sum(),
          .loss = loss.sum(),
          .shrink = shrink.sum() * kSlack,
          .swell = swell.sum(),
          .own_square = own_square.sum(),
          .coherent = coherent.sum(),
          .rest = rest.sum(),
          .longest_g = longest_g.largest(),
          .longest_r = longest_r.largest(),
          .slop = (longest_error.largest() * 0x1p-24 + scale.evaluation) * (1 + 0x1p-19)};
  return skipped;
}

}  // namespace flashproof::bound::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
