// charge_key(), sum_key() (softmax_keys.h) and quotient() (softmax_quotient.h), eight keys at a time. To be included from a file that foreach_target.h compiles once per
// target, after weights-inl.h.

#include <cstdint>

#include "hwy/highway.h"
#include "reference/bound/softmax/softmax_keys.h"
#include "reference/bound/softmax/softmax_quotient.h"
#include "reference/bound/vector/weights-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flashproof::bound::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

inline void charge_keys(const PathCosts& costs, const PathKeys& keys, std::int64_t n) {
  const Doubles d;
  const hn::Rebind<std::int32_t, Doubles> ints;
  const auto set = [&](double x) HWY_ATTR { return hn::Set(d, x); };
  const auto zero = hn::Zero(d);
  for (std::int64_t j = 0; j < n; j += kLanes) {
    const auto x = hn::LoadU(d, keys.x + j);
    const auto gap = hn::Sub(hn::LoadU(d, keys.entry + j), x);
    const auto below = hn::Sub(set(costs.max), x);
    const auto enters = hn::Ne(gap, zero);
    const auto exps =
        hn::Add(hn::PromoteTo(d, hn::LoadU(ints, keys.rescales + j)), hn::IfThenElseZero(enters, set(1.0)));
    const auto own = hn::IfThenElseZero(enters, hn::MulAdd(set(costs.entry_gap), gap, set(costs.entry_rest)));
    const auto path = hn::MulAdd(set(costs.slope), below, hn::Mul(exps, set(costs.exponential)));
    const auto exponent = hn::Mul(path, set(kSlack));
    const auto deep = hn::Ge(hn::Add(below, exponent), set(costs.deepest));
    const auto alone = hn::Max(zero, hn::Sub(own, hn::Mul(set(costs.constant), gap)));
    hn::StoreU(own, d, keys.own + j);
    hn::StoreU(hn::Mul(set(costs.constant), below), d, keys.constant + j);
    hn::StoreU(exponent, d, keys.exponent + j);
    const auto erring = hn::MulAdd(small_expm1(hn::Mul(exps, set(costs.error))), set(kSlack), set(1.0));
    hn::StoreU(hn::IfThenElseZero(deep, hn::Mul(hn::Mul(exps, set(costs.lost)), erring)), d, keys.lost + j);
    hn::StoreU(hn::Mul(hn::PromoteTo(d, hn::LoadU(ints, keys.roundings + j)), set(roundings(1))), d,
               keys.denominator + j);
    hn::StoreU(hn::Min(alone, exponent), d, keys.own_of_sum + j);
  }
}

inline void sum_keys(const SummedKeys& keys, std::int64_t n, KeySums& sums) {
  const Doubles d;
  const auto small = hn::Set(d, kSmallLog);
  const auto slack = hn::Set(d, kSlack);
  LaneSum denominator, shared, own, constant, most_constant;
  for (std::int64_t j = 0; j < n; j += 8) {
    bool plain = true;
    for (std::int64_t part = 0; part < kParts && plain; ++part) {
      const std::int64_t at = j + part * kLanes;
      const auto longest = hn::Max(hn::LoadU(d, keys.constant + at), hn::LoadU(d, keys.own_of_sum + at));
      plain = hn::AllTrue(d, hn::Le(longest, small));
    }
    if (!plain) {
      for (std::int64_t i = j; i < j + 8; ++i) sum_key(keys, i, sums);
      continue;
    }
    for (std::int64_t part = 0; part < kParts; ++part) {
      const std::int64_t at = j + part * kLanes;
      const auto p = hn::LoadU(d, keys.p + at);
      const auto own_units = hn::LoadU(d, keys.own_of_sum + at);
      const auto grown = hn::Mul(small_expm1(hn::LoadU(d, keys.constant + at)), slack);
      hn::StoreU(grown, d, keys.constant_growth + at);
      denominator.part[part] = hn::MulAdd(p, hn::LoadU(d, keys.denominator + at), denominator.part[part]);
      shared.part[part] = hn::Max(shared.part[part], hn::Sub(hn::LoadU(d, keys.exponent + at), own_units));
      own.part[part] = hn::Max(own.part[part], hn::Mul(hn::Mul(p, small_expm1(own_units)), slack));
      constant.part[part] = hn::MulAdd(hn::Add(p, hn::LoadU(d, keys.q + at)), grown, constant.part[part]);
      most_constant.part[part] = hn::Max(most_constant.part[part], grown);
    }
  }
  sums.denominator += denominator.sum();
  sums.shared = std::max(sums.shared, shared.largest());
  sums.largest_own = std::max(sums.largest_own, own.largest());
  sums.constant += constant.sum();
  sums.most_constant = std::max(sums.most_constant, most_constant.largest());
}

/// Chance::add() of vectors that hold neither inf nor NaN nor a sign.
HWY_INLINE DoubleVec add_chance(DoubleVec square, DoubleVec largest, DoubleVec sum) {
  return hn::MulAdd(hn::Min(largest, sum), sum, square);
}

inline std::int64_t quotients(const QuotientRow& row, std::int64_t n, ElementBound* bounds, std::int64_t* left) {
  const Doubles d;
  const auto set = [&](double x) HWY_ATTR { return hn::Set(d, x); };
  const QuotientCosts& costs = row.costs;
  constexpr double kFinite = 0x1p100;  // what is below has finite products
  const bool finite = costs.denominator < kFinite && costs.ending < kFinite && costs.ending_lost < kFinite &&
                      costs.flushed < kFinite && row.sum.most < kFinite && row.sum.moved < kFinite &&
                      costs.largest_own < kFinite && costs.shared < kFinite && costs.constant_mean < kFinite;
  const auto slack = set(kSlack);
  const auto zero = hn::Zero(d);
  const auto max = set(row.max);
  const auto framed = set(row.max + row.common);
  const auto small = set(kSmallLog);
  std::int64_t skipped = 0;
  for (std::int64_t j = 0; j < n; j += 8) {
    DoubleVec own[kParts];
    bool plain = finite;
    for (std::int64_t part = 0; part < kParts && plain; ++part) {
      const std::int64_t at = j + part * kLanes;
      const auto x = hn::LoadU(d, row.x + at);
      const auto below = hn::Sub(max, x);
      const auto rest = hn::IfThenElse(hn::Eq(below, zero), set(row.rest_at_max), set(row.rest));
      own[part] = hn::MulAdd(set(row.gap), below, hn::MulAdd(set(row.size), hn::Abs(x), rest));
      // A weight of 0 whose exponential errs by more, and still by nothing that a double could hold.
      const auto nothing =
          hn::And(hn::Eq(hn::LoadU(d, row.y + at), zero), hn::Gt(hn::Sub(below, own[part]), set(-kVanished)));
      const auto known = hn::Lt(hn::LoadU(d, row.constant + at), set(kFinite));
      plain = hn::AllTrue(d, hn::And(known, hn::Or(hn::Le(own[part], small), nothing)));
    }
    if (!plain) {
      left[skipped++] = j;
      continue;
    }
    HWY_ALIGN double lanes[6][8];
    for (std::int64_t part = 0; part < kParts; ++part) {
      const std::int64_t at = j + part * kLanes;
      const auto x = hn::LoadU(d, row.x + at);
      const auto y = hn::LoadU(d, row.y + at);
      const auto path = hn::Add(hn::Sub(framed, x), own[part]);
      const auto flushed = hn::IfThenElseZero(hn::Gt(path, set(costs.deepest)), set(costs.flushed));
      const auto alone = hn::Mul(hn::Mul(y, small_expm1(hn::Min(own[part], small))), slack);
      const auto weights = hn::Mul(hn::MulAdd(y, set(row.sum.moved), hn::LoadU(d, row.slop + at)), slack);
      const auto numerator = hn::Mul(hn::MulAdd(alone, set(row.sum.most), flushed), slack);
      const auto divided = hn::Add(hn::Add(y, weights), numerator);
      const auto denominator = hn::Mul(set(costs.denominator), divided);
      const auto stored = hn::Add(divided, denominator);
      const auto output = hn::Add(hn::Mul(hn::MulAdd(set(costs.ending), stored, set(costs.ending_lost)), slack),
                                  set(costs.flushed_result));
      const auto total = hn::Add(hn::Add(hn::Add(weights, numerator), denominator), output);

      // The output's first: nothing underflows beside it.
      auto square = hn::Mul(output, output);
      square = add_chance(square, hn::Mul(set(costs.largest_own + costs.shared), y), weights);
      square = add_chance(square, numerator, numerator);
      square = add_chance(square, hn::Mul(set(costs.rounding), y), denominator);
      const auto certain = hn::Mul(hn::Add(hn::LoadU(d, row.constant + at), set(costs.constant_mean)), y);
      const auto likely = hn::Mul(hn::MulAdd(set(kLambda), hn::Sqrt(square), certain), slack);
      const DoubleVec fields[] = {weights, numerator, denominator, output, hn::Min(likely, total), y};
      for (std::size_t f = 0; f < 6; ++f) hn::StoreU(fields[f], d, lanes[f] + part * kLanes);
    }
    for (std::int64_t i = 0; i < 8; ++i) {
      bounds[row.column[j + i]] = {.weights = lanes[0][i],
                                   .numerator = lanes[1][i],
                                   .denominator = lanes[2][i],
                                   .output = lanes[3][i],
                                   .probable = lanes[4][i],
                                   .drift = 0,
                                   .size = lanes[5][i]};
    }
  }
  return skipped;
}

}  // namespace flashproof::bound::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
