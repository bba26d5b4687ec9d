#include "reference/oracle/fp64/vector/highway_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reference/oracle/double_double/kernels.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
// clang-format off: per-target headers come after highway.h
#include "reference/oracle/double_double/dd-inl.h"
#include "reference/oracle/fp64/vector/exp-inl.h"
// clang-format on
#include <algorithm>
#include <limits>

#include "reference/oracle/double_double/kernels.h"
#include "reference/oracle/environment_guard.h"

HWY_BEFORE_NAMESPACE();
namespace flashproof::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<double, kBlock>;
using V = hn::Vec<D>;
using Dd = DdVec<V>;
constexpr std::int64_t kLanes = hn::MaxLanes(D());
static_assert(kBlock % kLanes == 0);

/// Where vector i of a blocked array begins, if a block of kBlock lanes is `stride` doubles from the next.
inline std::int64_t vector_offset(std::int64_t i, std::int64_t stride) {
  return i * kLanes / kBlock * stride + i * kLanes % kBlock;
}

/// kN vectors of keys at a time, so that the additions of one hide the latency of the other's.
template <int kN>
void dot_vectors(const double* keys, std::int64_t i, const double* query, std::int64_t depth, double* hi, double* lo,
                 double* largest) {
  const D d;
  const double* at[kN];
  V high[kN], low[kN], most[kN];
  for (int n = 0; n < kN; ++n) {
    at[n] = keys + vector_offset(i + n, depth * kBlock);
    high[n] = low[n] = most[n] = hn::Zero(d);
  }
  for (std::int64_t c = 0; c < depth; ++c) {
    const V q = hn::Set(d, query[c]);
    for (int n = 0; n < kN; ++n) {
      const Dd s = TwoSum(high[n], hn::Mul(q, hn::Load(d, at[n] + c * kBlock)));
      high[n] = s.hi;
      low[n] = hn::Add(low[n], s.lo);
      most[n] = hn::Max(most[n], hn::Abs(low[n]));
    }
  }
  for (int n = 0; n < kN; ++n) {
    hn::Store(high[n], d, hi + (i + n) * kLanes);
    hn::Store(low[n], d, lo + (i + n) * kLanes);
    hn::Store(most[n], d, largest + (i + n) * kLanes);
  }
}

void vector_dot_keys(const double* keys, std::int64_t blocks, const double* query, std::int64_t depth, double* hi,
                     double* lo, double* largest) {
  const std::int64_t vectors = blocks * kBlock / kLanes;
  std::int64_t i = 0;
  for (; i + 2 <= vectors; i += 2) dot_vectors<2>(keys, i, query, depth, hi, lo, largest);
  for (; i < vectors; ++i) dot_vectors<1>(keys, i, query, depth, hi, lo, largest);
}

void vector_score_keys(const ScoreRule& rule, const DdTerms& terms, RowNumbers& row) {
  const D d;
  const V zero = hn::Zero(d);
  const V scale = hn::Set(d, rule.scale);
  const V exact_scale = hn::Set(d, exact_factor(rule.scale) ? 0.0 : 1.0);
  // The first product is added to 0 and leaves no rest, the rest of the second is added to 0.
  const double additions = static_cast<double>(std::max(rule.depth - 2, std::int64_t{0}));
  const V dot_error = hn::Set(d, terms.dot * additions * kU * std::fabs(rule.scale));
  for (std::int64_t p = 0; p < row.size(); p += kLanes) {
    const Dd dot = TwoSum(hn::Load(d, &row.hi[p]), hn::Load(d, &row.lo[p]));
    // Every low word is a multiple of both quanta's product; below 2^53 of them (exact_below) no addition to it was rounded.
    const V largest = hn::Load(d, &row.error[p]);
    const V limit = hn::Mul(hn::Load(d, rule.key_quantum + p), hn::Set(d, rule.query_quantum * terms.exact_below));
    V error = hn::IfThenZeroElse(hn::Lt(largest, limit), hn::Mul(dot_error, largest));
    Dd s;
    if (rule.scale_low == 0) {
      s = DdMulDouble(dot, scale);
      const V rounded = hn::IfThenZeroElse(hn::Eq(dot.lo, zero), exact_scale);
      error = hn::MulAdd(hn::Set(d, terms.exponent * kDdMulDoubleError), hn::Mul(rounded, hn::Abs(s.hi)), error);
    } else {
      s = DdMul(dot, Dd{scale, hn::Set(d, rule.scale_low)});
      error = hn::MulAdd(hn::Set(d, terms.exponent * kDdMulError), hn::Abs(s.hi), error);
    }
    if (rule.bias != nullptr) {
      s = DdAddDouble(s, hn::Load(d, rule.bias + p));
      error = hn::MulAdd(hn::Set(d, terms.exponent * kDdAddDoubleError), hn::Abs(s.hi), error);
    }
    if (rule.slope != 0) {
      const V first = hn::Set(d, static_cast<double>(rule.beside - rule.first - p));
      const V distance = hn::Abs(hn::Sub(first, hn::Iota(d, 0.0)));
      s = DdAdd(s, DdNeg(TwoProduct(hn::Set(d, rule.slope), distance)));
      error = hn::MulAdd(hn::Set(d, terms.exponent * kDdAddError), hn::Abs(s.hi), error);
    }
    hn::Store(s.hi, d, &row.hi[p]);
    hn::Store(s.lo, d, &row.lo[p]);
    hn::Store(error, d, &row.error[p]);
  }
}

/// kDouble: the weight in a double, and h_N u w in the spread; else in DD.
template <bool kDouble>
void weigh(DD m, double shift, double roundings, const DdTerms& terms, RowNumbers& row) {
  const D d;
  const V zero = hn::Zero(d);
  const V one = hn::Set(d, 1.0);
  const V infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  const V weight_error = hn::Set(d, terms.exp * (kDouble ? kWeightError : kDdExpError));
  const V value_error = hn::Set(d, terms.pv * (kDouble ? roundings * kU : 4 * kU * kU));
  const Dd minus_m = {hn::Set(d, -m.hi), hn::Set(d, -m.lo)};
  for (std::int64_t p = 0; p < row.size(); p += kLanes) {
    const V score = hn::Load(d, &row.hi[p]);
    const auto hidden = hn::Eq(score, hn::Neg(infinity));
    const V low = hn::Load(d, &row.lo[p]);
    Dd x = DdAdd(Dd{hn::IfThenElse(hidden, hn::Set(d, m.hi), score), low}, minus_m);
    const V size = hn::Abs(x.hi);
    // Equal low words cancel, and the difference of two doubles is a DD: no rounding.
    const V rounded = hn::IfThenZeroElse(hn::Eq(low, hn::Set(d, m.lo)), size);
    const V given = hn::Add(hn::Load(d, &row.error[p]), hn::Set(d, shift));
    const V e = hn::MulAdd(hn::Set(d, terms.exponent * kDdAddError), rounded, given);

    // An upper bound of the weight, for those that are skipped and those of whose exponent little is known. 2^-40 of
    // |x| is more than x.lo, the roundings of this line and, unless x + e is above 300, those of e; Exp and the product
    // are within 1 + 2^-20.
    const V top = hn::Add(x.hi, hn::MulAdd(hn::Set(d, 0x1p-40), size, e));
    const V clamped = hn::Min(hn::Max(top, hn::Set(d, kSkip)), hn::Set(d, 300.0));
    const V bound =
        hn::IfThenElse(hn::Le(top, hn::Set(d, 300.0)), hn::Mul(Exp(d, clamped), hn::Set(d, 1 + 0x1p-20)), infinity);

    const auto known = hn::And(hn::Ge(x.hi, hn::Set(d, kSkip)), hn::Le(e, hn::Set(d, 0.25)));
    x.hi = hn::IfThenElseZero(known, x.hi);
    x.lo = hn::IfThenElseZero(known, x.lo);
    Dd w;
    if constexpr (kDouble) {
      const V of_high = Exp(d, x.hi);
      w = {hn::MulAdd(of_high, x.lo, of_high), zero};
    } else {
      w = ExpDd(d, x);
    }
    const auto x_is_zero = hn::And(hn::Eq(x.hi, zero), hn::Eq(x.lo, zero));  // then the weight is 1 exactly
    const V relative = hn::Add(hn::MulAdd(e, e, e), hn::IfThenZeroElse(x_is_zero, weight_error));
    V rho = hn::IfThenElse(known, hn::Mul(w.hi, relative), bound);
    rho = hn::IfThenZeroElse(hidden, rho);
    const auto weightless = hn::Or(hidden, hn::Not(known));
    w.hi = hn::IfThenZeroElse(weightless, w.hi);
    w.lo = hn::IfThenZeroElse(weightless, w.lo);
    // In DD a product with a weight of 1 is exact.
    const auto is_one = hn::And(hn::Eq(w.hi, one), hn::Eq(w.lo, zero));
    const V products = kDouble ? w.hi : hn::IfThenZeroElse(is_one, w.hi);
    hn::Store(w.hi, d, &row.hi[p]);
    hn::Store(w.lo, d, &row.lo[p]);
    hn::Store(rho, d, &row.error[p]);
    hn::Store(hn::MulAdd(value_error, products, rho), d, &row.spread[p]);
  }
}

void vector_weigh_dd(DD m, double shift, const DdTerms& terms, RowNumbers& row) {
  weigh<false>(m, shift, 0, terms, row);
}

void vector_weigh_fp64(DD m, double shift, double roundings, const DdTerms& terms, RowNumbers& row) {
  weigh<true>(m, shift, roundings, terms, row);
}

/// kN vectors of columns at a time.
template <int kN>
void value_vectors_dd(const RowNumbers& row, std::int64_t from, std::int64_t count, const double* values,
                      std::int64_t capacity, std::int64_t i, ColumnSums& sums) {
  const D d;
  const double* at[kN];
  V high[kN], low[kN], slack[kN], spread[kN];
  for (int n = 0; n < kN; ++n) {
    const std::int64_t column = (i + n) * kLanes;
    at[n] = values + vector_offset(i + n, capacity * kBlock);
    high[n] = hn::Load(d, &sums.hi[column]);
    low[n] = hn::Load(d, &sums.lo[column]);
    slack[n] = hn::Load(d, &sums.slack[column]);
    spread[n] = hn::Load(d, &sums.spread[column]);
  }
  for (std::int64_t j = 0; j < count; ++j) {
    const V w_high = hn::Set(d, row.hi[from + j]);
    const V w_low = hn::Set(d, row.lo[from + j]);
    const V w_spread = hn::Set(d, row.spread[from + j]);
    for (int n = 0; n < kN; ++n) {
      const V v = hn::Load(d, at[n] + j * kBlock);
      const Dd product = TwoProduct(w_high, v);
      const Dd s = TwoSum(high[n], product.hi);
      high[n] = s.hi;
      low[n] = hn::Add(hn::Add(low[n], s.lo), hn::MulAdd(w_low, v, product.lo));
      slack[n] = hn::Add(slack[n], hn::Abs(low[n]));
      spread[n] = hn::MulAdd(w_spread, hn::Abs(v), spread[n]);
    }
  }
  for (int n = 0; n < kN; ++n) {
    const std::int64_t column = (i + n) * kLanes;
    hn::Store(high[n], d, &sums.hi[column]);
    hn::Store(low[n], d, &sums.lo[column]);
    hn::Store(slack[n], d, &sums.slack[column]);
    hn::Store(spread[n], d, &sums.spread[column]);
  }
}

void vector_add_values_dd(const RowNumbers& row, std::int64_t from, std::int64_t count, const double* values,
                          std::int64_t capacity, ColumnSums& sums) {
  const std::int64_t vectors = static_cast<std::int64_t>(sums.hi.size()) / kLanes;
  std::int64_t i = 0;
  for (; i + 2 <= vectors; i += 2) value_vectors_dd<2>(row, from, count, values, capacity, i, sums);
  for (; i < vectors; ++i) value_vectors_dd<1>(row, from, count, values, capacity, i, sums);
}

template <int kN>
void value_vectors_fp64(const RowNumbers& row, std::int64_t from, std::int64_t count, std::int64_t run,
                        const double* values, std::int64_t capacity, std::int64_t i, ColumnSums& sums) {
  const D d;
  const double* at[kN];
  V spread[kN];
  for (int n = 0; n < kN; ++n) {
    at[n] = values + vector_offset(i + n, capacity * kBlock);
    spread[n] = hn::Load(d, &sums.spread[(i + n) * kLanes]);
  }
  for (std::int64_t begin = 0; begin < count; begin += run) {
    V sum[kN];
    for (int n = 0; n < kN; ++n) sum[n] = hn::Zero(d);
    for (std::int64_t j = begin; j < std::min(begin + run, count); ++j) {
      const V w = hn::Set(d, row.hi[from + j]);
      const V w_spread = hn::Set(d, row.spread[from + j]);
      for (int n = 0; n < kN; ++n) {
        const V v = hn::Load(d, at[n] + j * kBlock);
        sum[n] = hn::MulAdd(w, v, sum[n]);
        spread[n] = hn::MulAdd(w_spread, hn::Abs(v), spread[n]);
      }
    }
    for (int n = 0; n < kN; ++n) {
      double* const total = &sums.hi[(i + n) * kLanes];
      hn::Store(hn::Add(hn::Load(d, total), sum[n]), d, total);
    }
  }
  for (int n = 0; n < kN; ++n) hn::Store(spread[n], d, &sums.spread[(i + n) * kLanes]);
}

void vector_add_values_fp64(const RowNumbers& row, std::int64_t from, std::int64_t count, std::int64_t run,
                            const double* values, std::int64_t capacity, ColumnSums& sums) {
  const std::int64_t vectors = static_cast<std::int64_t>(sums.hi.size()) / kLanes;
  std::int64_t i = 0;
  for (; i + 4 <= vectors; i += 4) value_vectors_fp64<4>(row, from, count, run, values, capacity, i, sums);
  for (; i < vectors; ++i) value_vectors_fp64<1>(row, from, count, run, values, capacity, i, sums);
}

}  // namespace
}  // namespace flashproof::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flashproof {

HWY_EXPORT(vector_dot_keys);
HWY_EXPORT(vector_score_keys);
HWY_EXPORT(vector_weigh_dd);
HWY_EXPORT(vector_weigh_fp64);
HWY_EXPORT(vector_add_values_dd);
HWY_EXPORT(vector_add_values_fp64);

bool has_dd_kernels() {
  static const bool has = (hwy::SupportedTargets() & HWY_TARGETS) != 0;  // CPUID is slow in a virtual machine
  return has;
}

void dot_keys(const double* keys, std::int64_t blocks, const double* query, std::int64_t depth, double* hi, double* lo,
              double* largest) {
  HWY_DYNAMIC_DISPATCH(vector_dot_keys)(keys, blocks, query, depth, hi, lo, largest);
}
void score_keys(const ScoreRule& rule, const DdTerms& terms, RowNumbers& row) {
  HWY_DYNAMIC_DISPATCH(vector_score_keys)(rule, terms, row);
}
void weigh_dd(DD m, double shift, const DdTerms& terms, RowNumbers& row) {
  HWY_DYNAMIC_DISPATCH(vector_weigh_dd)(m, shift, terms, row);
}
void weigh_fp64(DD m, double shift, double roundings, const DdTerms& terms, RowNumbers& row) {
  HWY_DYNAMIC_DISPATCH(vector_weigh_fp64)(m, shift, roundings, terms, row);
}
void add_values_dd(const RowNumbers& row, std::int64_t from, std::int64_t count, const double* values,
                   std::int64_t capacity, ColumnSums& sums) {
  HWY_DYNAMIC_DISPATCH(vector_add_values_dd)(row, from, count, values, capacity, sums);
}
void add_values_fp64(const RowNumbers& row, std::int64_t from, std::int64_t count, std::int64_t run,
                     const double* values, std::int64_t capacity, ColumnSums& sums) {
  HWY_DYNAMIC_DISPATCH(vector_add_values_fp64)(row, from, count, run, values, capacity, sums);
}

void RowNumbers::reset(std::int64_t positions) {
  hi.assign(positions, -std::numeric_limits<double>::infinity());
  lo.assign(positions, 0.0);
  error.assign(positions, 0.0);
  spread.assign(positions, 0.0);
}

void RowNumbers::hide(std::int64_t position) {
  hi[position] = -std::numeric_limits<double>::infinity();
  lo[position] = error[position] = 0.0;
}

void ColumnSums::reset(std::int64_t columns) {
  for (AlignedDoubles* const column : {&hi, &lo, &slack, &spread}) column->assign(columns, 0.0);
}

}  // namespace flashproof
#endif
