// The loops of row_entries.cc and attention_scores.cc over the keys of a row, eight at a time; a last, short group is
// masked. To be included from a file that foreach_target.h compiles once per target.

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "reference/bound/vector/column_pass.h"
#include "reference/bound/vector/key_loops.h"
#include "reference/bound/vector/weights-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flashproof::bound::kernels::HWY_NAMESPACE {

/// act(at, part, load, store) for every vector of n keys; load(x) is 0 beyond the last.
template <class Act>
HWY_INLINE void for_each_vector(std::int64_t n, Act&& act) {
  const Doubles d;
  for (std::int64_t j = 0; j < n; j += 8) {
    for (std::int64_t part = 0; part < kParts; ++part) {
      const std::int64_t at = j + part * kLanes;
      const auto mask = hn::FirstN(d, static_cast<std::size_t>(std::clamp<std::int64_t>(n - at, 0, kLanes)));
      const auto load = [&](const double* from) HWY_ATTR { return hn::MaskedLoad(mask, d, from + at); };
      const auto store = [&](DoubleVec x, double* to) HWY_ATTR { hn::BlendedStore(x, mask, d, to + at); };
      act(part, load, store);
    }
  }
}

inline void numerator_weights(const NumeratorInputs& in, std::int64_t n, double* growth, double* numerator,
                              double* rest, NumeratorSums& sums) {
  const Doubles d;
  const auto zero = hn::Zero(d), slack = hn::Set(d, kSlack), lost_scale = hn::Set(d, in.lost_scale);
  const auto centred_share = hn::Set(d, in.centred_share);
  LaneSum total, resting, lost_sum, own_sum, extra, q_sum, coherent;
  for_each_vector(n, [&](std::int64_t part, const auto& load, const auto& store) HWY_ATTR {
    const auto p = load(in.p), q = load(in.q), units = load(in.units), lost = load(in.lost),
               named = load(in.own_numerator);
    const auto grown = in.small ? hn::Mul(small_expm1(units), slack) : load(growth);
    const auto a = hn::MulAdd(hn::Add(p, q), grown, hn::Mul(lost, lost_scale));
    const auto centred = hn::Mul(centred_share, units);
    const auto taken = in.all_random ? centred : hn::Min(named, centred);
    const auto left = hn::Max(zero, hn::NegMulAdd(p, taken, hn::Mul(a, centred_share)));
    store(grown, growth);
    store(a, numerator);
    store(left, rest);
    total.part[part] = hn::Add(total.part[part], a);
    resting.part[part] = hn::Add(resting.part[part], left);
    lost_sum.part[part] = hn::Add(lost_sum.part[part], lost);
    own_sum.part[part] = hn::Add(own_sum.part[part], named);
    extra.part[part] = hn::Add(extra.part[part], hn::Max(zero, hn::NegMulAdd(p, grown, a)));
    q_sum.part[part] = hn::Add(q_sum.part[part], q);
    coherent.part[part] = hn::Add(coherent.part[part], hn::Max(zero, hn::NegMulAdd(p, load(in.own), q)));
  });
  sums = {.total = total.sum(),
          .rest = resting.sum(),
          .lost = lost_sum.sum(),
          .own_numerator = own_sum.sum(),
          .extra = extra.sum(),
          .q = q_sum.sum(),
          .coherent = coherent.sum()};
}

inline void above_shares(const NumeratorInputs& in, std::int64_t n, const double* numerator, const double* rest,
                         double coherent_share, double rest_share, double& coherent_extra, double& rest_extra) {
  const Doubles d;
  const auto zero = hn::Zero(d), c = hn::Set(d, coherent_share), r = hn::Set(d, rest_share);
  LaneSum coherent, resting;
  for_each_vector(n, [&](std::int64_t part, const auto& load, const auto&) HWY_ATTR {
    const auto q = load(in.q);
    const auto left = hn::Max(zero, hn::NegMulAdd(load(in.p), load(in.own), q));
    coherent.part[part] = hn::Add(coherent.part[part], hn::Max(zero, hn::NegMulAdd(c, q, left)));
    resting.part[part] = hn::Add(resting.part[part], hn::Max(zero, hn::NegMulAdd(r, load(numerator), load(rest))));
  });
  coherent_extra = coherent.sum();
  rest_extra = resting.sum();
}

inline float draw_lines(const float* units, const float* p, std::int64_t lines, float* slope, float* base) {
  const hn::CappedTag<float, kLineKeys> d;
  using Vec = hn::Vec<decltype(d)>;
  constexpr auto kStep = static_cast<std::int64_t>(hn::MaxLanes(decltype(d)()));
  constexpr std::int64_t kVectors = kLineKeys / kStep;
  HWY_ALIGN constexpr float kInverse[kLineKeys] = {1.0F / 15, 1.0F / 14, 1.0F / 13, 1.0F / 12, 1.0F / 11, 1.0F / 10,
                                                   1.0F / 9,  1.0F / 8,  1.0F / 7,  1.0F / 6,  1.0F / 5,  1.0F / 4,
                                                   1.0F / 3,  1.0F / 2,  1,         0};
  HWY_ALIGN constexpr float kPlace[kLineKeys] = {16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1};
  constexpr float kUpward = 1 + 0x1p-21F;  // three roundings, here and below
  Vec above[kVectors];
  for (auto& x : above) x = hn::Zero(d);
  for (std::int64_t n = 0; n < lines; ++n) {
    const float* const at = units + n * kLineKeys;
    const float last = at[kLineKeys - 1];
    auto steepest = hn::Zero(d);
    for (std::int64_t i = 0; i < kLineKeys; i += kStep) {
      const auto rise = hn::Sub(hn::LoadU(d, at + i), hn::Set(d, last));
      steepest = hn::Max(steepest, hn::Mul(rise, hn::Load(d, kInverse + i)));
    }
    const float steep = hn::GetLane(hn::MaxOfLanes(d, steepest)) * kUpward;
    const float least = std::max(last - steep, 0.0F) * kUpward;
    slope[n] = steep;
    base[n] = least;
    for (std::int64_t v = 0; v < kVectors; ++v) {
      const std::int64_t i = v * kStep;
      const auto line = hn::MulAdd(hn::Load(d, kPlace + i), hn::Set(d, steep), hn::Set(d, least));
      above[v] = hn::MulAdd(hn::LoadU(d, p + n * kLineKeys + i), hn::Sub(line, hn::LoadU(d, at + i)), above[v]);
    }
  }
  float sum = 0;
  for (const auto& x : above) {
    HWY_ALIGN float lane[kLineKeys];
    hn::Store(x, d, lane);
    for (std::int64_t l = 0; l < kStep; ++l) sum += lane[l];
  }
  return sum;
}

inline void largest_score(const double* score, const double* error, std::int64_t n, double& max, double& max_error) {
  const Doubles d;
  auto most = hn::Set(d, score[0]);
  auto widest = hn::Zero(d);
  for (std::int64_t j = 0; j < n; j += kLanes) {
    most = hn::Max(most, hn::LoadU(d, score + j));
    widest = hn::Max(widest, hn::LoadU(d, error + j));
  }
  max = hn::GetLane(hn::MaxOfLanes(d, most));
  max_error = hn::GetLane(hn::MaxOfLanes(d, widest));
}

inline std::int64_t count_above(const double* score, const double* error, std::int64_t n, double limit) {
  const Doubles d;
  const auto least = hn::Set(d, limit);
  std::int64_t count = 0;
  for (std::int64_t j = 0; j < n; j += kLanes) {
    const auto high = hn::Add(hn::LoadU(d, score + j), hn::LoadU(d, error + j));
    count += static_cast<std::int64_t>(hn::CountTrue(d, hn::Gt(high, least)));
  }
  return count;
}

inline void score_dots(const DotCosts& costs, const DotInputs& in, std::int64_t n, const DotOutputs& out) {
  const Doubles d;
  const auto set = [&](double x) HWY_ATTR { return hn::Set(d, x); };
  const auto zero = hn::Zero(d);
  for_each_vector(n, [&](std::int64_t, const auto& load, const auto& store) HWY_ATTR {
    const auto size = load(in.size), k_sum = load(in.k_sum), k_tiny = load(in.k_tiny);
    const auto x = hn::Mul(set(costs.scale), load(in.dot));
    const auto stored = hn::MulAdd(set(costs.query_relative), size, hn::Mul(set(costs.query_absolute), k_sum));
    const auto exact = hn::MulAdd(set(costs.query_scale), size, stored);
    const auto cut = hn::MulAdd(set(costs.tf32), exact, hn::MulAdd(set(costs.cut_k), k_sum, set(costs.cut_fixed)));
    const auto all = hn::Add(exact, cut);  // Σ|q' k| at most
    const auto k_most = hn::Max(load(in.k_max), set(costs.least_k_max));
    const auto step = hn::IfThenElseZero(hn::Gt(k_tiny, zero), set(costs.tiny_step));
    const auto subnormal = hn::MulAdd(set(costs.per_k_max), k_most, hn::MulAdd(set(costs.per_k_tiny), k_tiny, step));
    const auto sum = hn::MulAdd(set(costs.depth), all, set(costs.operations));
    const auto t = hn::Add(hn::Add(stored, cut), hn::Add(subnormal, sum));
    const auto scaled = hn::MulAdd(set(costs.tau), t, hn::Abs(x));
    store(x, out.value);
    store(t, out.dot);
    store(hn::MulAdd(set(costs.tau), t, hn::MulAdd(set(costs.product_lost), scaled, set(costs.product_fixed))),
          out.error);
    store(hn::MulAdd(set(costs.tau * costs.own_depth), all, hn::Mul(set(costs.product), scaled)), out.own);
    store(hn::Max(hn::Mul(all, set(1 + costs.depth)), hn::Mul(scaled, set(costs.product_size))), out.largest);
  });
}

}  // namespace flashproof::bound::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
