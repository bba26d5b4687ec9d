// closed_form() and add_probable() for eight columns at a time, from sums in f32 with what those may have lost. To be
// included from a file that foreach_target.h compiles once per target.

#include <algorithm>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "reference/bound/row/row_model.h"
#include "reference/bound/vector/column_pass.h"

HWY_BEFORE_NAMESPACE();
namespace flashproof::bound::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

inline void finish_columns(const PassRow& row, const RowConstants& k, const double* unscale, std::int64_t width,
                           ElementBound* bounds, double* ranges, std::uint8_t* unsettled) {
  const hn::CappedTag<double, 8> d;
  constexpr auto kStep = static_cast<std::int64_t>(hn::MaxLanes(decltype(d)()));
  const auto set = [&](double x) HWY_ATTR { return hn::Set(d, x); };
  const auto zero = hn::Zero(d);
  const auto slack = set(kSlack);
  const auto infinity = set(std::numeric_limits<double>::infinity());
  const auto chain = set(1 + kChainError);
  const auto floor = set(k.floor);
  const auto inverse_low = set(1 / k.low * kSlack);
  const auto g_second = set(k.denominator_all * k.denominator_all / (1 - k.denominator_all) * kSlack);
  for (std::int64_t c = 0; c < width; c += kStep) {
    const auto unit = hn::LoadU(d, unscale + c);
    const auto sum = [&](ColumnSum which) HWY_ATTR { return hn::LoadU(d, row.sums[which] + c); };
    const auto up = [&](ColumnSum which) HWY_ATTR { return hn::Mul(unit, hn::MulAdd(sum(which), chain, floor)); };
    const auto o = hn::Mul(unit, sum(kO));
    const auto low = hn::Mul(unit, sum(kLowest));
    const auto high = hn::Mul(unit, sum(kHighest));
    const auto spread = hn::Sub(high, low);
    const auto all = up(kSize);  // Σ p|v|
    const auto slop = hn::Min(hn::Mul(all, set((kChainError + k.slop) * kSlack)), spread);
    const auto size = hn::Add(all, slop);
    const auto largest = hn::Max(hn::Abs(low), hn::Abs(high));
    const auto magnitude = hn::Min(hn::Add(hn::Abs(o), slop), largest);

    const auto sink = hn::Add(hn::Abs(o), slop);
    const auto shifted = hn::MulAdd(set(k.q_sum), slop, hn::MulAdd(set(k.sink_q), sink, up(kShifted)));
    const auto farthest = hn::Min(hn::Add(hn::Max(hn::Sub(high, o), hn::Sub(o, low)), slop), spread);
    const auto weights = hn::Mul(hn::Min(hn::Mul(shifted, inverse_low), farthest), slack);
    const auto numerator_sum = hn::MulAdd(set(k.numerator_extra), largest, up(kNumerator));
    const auto closed = hn::Min(hn::Mul(numerator_sum, inverse_low), hn::Mul(set(k.coarse), largest));
    const auto numerator = hn::Mul(hn::Add(closed, set(k.numerator_underflow)), slack);
    const auto mean = hn::Min(hn::Add(magnitude, weights), largest);
    const auto moved = hn::Add(mean, numerator);
    const auto denominator = hn::Mul(set(k.denominator), moved);
    const auto output = hn::Mul(hn::MulAdd(set(k.ending), hn::Add(moved, denominator), set(k.ending_underflow)), slack);
    // In the order of ElementBound::total().
    const auto total = hn::Add(hn::Add(hn::Add(weights, numerator), denominator), output);
    const auto range =
        hn::IfThenElse(hn::Gt(spread, zero), spread, hn::IfThenElse(hn::Gt(largest, zero), largest, infinity));

    // Chance, as in probable.cc; √Σ(p own (|v − o| + slop))² <= √Σ(p own (v − o))² + slop √Σ(p own)².
    const auto coherent = hn::MulAdd(set(k.coherent_share), shifted, hn::Mul(set(k.coherent_extra), farthest));
    const auto drift = hn::Mul(set(k.drift), numerator_sum);
    const auto rest = hn::Add(drift, hn::MulAdd(set(k.rest_share), numerator_sum, hn::Mul(set(k.rest_extra), largest)));
    const auto own = hn::MulAdd(set(k.sink_own_square), hn::Mul(sink, sink), hn::Mul(unit, up(kOwnSquare)));
    const auto own_numerator = hn::Mul(unit, up(kNumeratorSquare));
    auto centred = hn::Add(own, own_numerator);
    centred = hn::MulAdd(set(k.numerator_square), hn::Mul(size, size), centred);
    centred = hn::MulAdd(set(k.denominator_square), hn::Mul(magnitude, magnitude), centred);
    auto first = hn::Add(coherent, rest);
    first = hn::MulAdd(set(kLambda * (1 + 0x1p-20)), hn::Sqrt(centred), first);
    first = hn::MulAdd(set(k.own_root), slop, first);
    first = hn::MulAdd(set(k.denominator_rest), magnitude, first);
    const auto errors = hn::Add(weights, numerator);
    auto probable = hn::Mul(first, inverse_low);
    probable = hn::Add(probable, set(k.numerator_underflow));
    probable = hn::MulAdd(set(k.denominator_first), magnitude, probable);
    probable = hn::MulAdd(set(k.denominator_all), errors, probable);
    probable = hn::MulAdd(g_second, hn::Add(magnitude, errors), probable);
    probable = hn::MulAdd(probable, slack, output);
    probable = hn::IfThenElse(hn::Lt(probable, total), probable, total);  // a NaN counts as total

    // Left to double: vacuous, not a number, or what f32 may have lost is not negligible.
    const auto lost = hn::Mul(unit, hn::Mul(floor, set(0x1p10)));
    const auto finite = hn::And(hn::Lt(total, hn::Mul(range, set(0.5))), hn::Le(lost, total));
    // Beside far larger values that are hidden, o may be subnormal in f32: the 2^-150 that its rounding loses are in no slop, unless
    // Σ p|v| is large enough for kChainError of it to be far more.
    const auto kept = hn::Or(hn::Ge(sum(kSize), set(0x1p-110)), hn::Eq(sum(kSize), zero));
    const auto settled = hn::And(finite, kept);

    HWY_ALIGN double parts[8][8];
    hn::Store(weights, d, parts[0]);
    hn::Store(numerator, d, parts[1]);
    hn::Store(denominator, d, parts[2]);
    hn::Store(output, d, parts[3]);
    hn::Store(probable, d, parts[4]);
    hn::Store(hn::Min(hn::Mul(drift, inverse_low), probable), d, parts[5]);
    hn::Store(size, d, parts[6]);
    hn::Store(range, d, parts[7]);
    HWY_ALIGN double flag[8];
    hn::Store(hn::IfThenElseZero(settled, set(1)), d, flag);
    for (std::int64_t i = 0; i < std::min(kStep, width - c); ++i) {
      bounds[c + i] = {parts[0][i], parts[1][i], parts[2][i], parts[3][i], parts[4][i], parts[5][i], parts[6][i]};
      ranges[c + i] = parts[7][i];
      unsettled[c + i] |= flag[i] == 0 ? 1 : 0;
    }
  }
}

}  // namespace flashproof::bound::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
