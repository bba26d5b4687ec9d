#include "reference/oracle/double_double/weighted_row.h"

#include <cmath>

#include "reference/oracle/double_double/dd_exp.h"
#include "reference/oracle/environment_guard.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

// Radii are sums and products of numbers >= 0, of at most 2^31 keys: fewer than 2^33 roundings, each within u of the
// partial result, and second-order parts below 2^-30. All of it is less than 2^-16.
constexpr double kInflate = 1 + 0x1p-16;
// Above this the exact score of the top key is taken for m: its error goes to the others and to lse.
constexpr double kLooseTop = 0x1p-10;

Ball ball(DD value, double radius) {
  radius *= kInflate;
  if (!(radius < kInfinity) || !std::isfinite(value.hi)) return {value.hi, 0.0, kInfinity};
  return {value.hi, value.lo, radius};
}

/// A result, and how far it is off.
struct Rounded {
  DD value;
  double error = 0;
};

/// The operations of operator+ (dd.h). Two of them round, and not if a summand is 0.
Rounded add(DD x, DD y) {
  const DD s = two_sum(x.hi, y.hi);
  const DD t = two_sum(x.lo, y.lo);
  const double middle = s.lo + t.hi;
  const DD v = fast_two_sum(s.hi, middle);
  const double low = t.lo + v.lo;
  double error = s.lo == 0.0 || t.hi == 0.0 ? 0.0 : kU * std::fabs(middle);
  if (t.lo != 0.0 && v.lo != 0.0) error += kU * std::fabs(low);
  return {fast_two_sum(v.hi, low), error};
}

/// n / l by q1 = n.hi / l.hi and q2 = (n − q1 l) / l.
Rounded divide(DD n, DD l) {
  if (l.lo != 0.0) {
    const DD q = n / l;
    return {q, kDdDivError * std::fabs(q.hi)};
  }
  const double high = n.hi / l.hi;
  const DD product = two_product(high, l.hi);
  const double head = n.hi - product.hi;  // exact
  const double tail = n.lo - product.lo;
  const double rest = head + tail;
  const double low = rest / l.hi;
  const DD q = fast_two_sum(high, low);
  if (exact_factor(l.hi)) return {q, 0.0};
  // With n.lo = 0 the rest n.hi − q1 l is a double, and tail is −product.lo: only q2 rounds.
  const double rest_error = n.lo == 0.0 ? 0.0 : kU * (std::fabs(tail) + std::fabs(rest)) / l.hi;
  return {q, rest_error + kU * std::fabs(low)};
}

std::int64_t largest(const RowNumbers& row) {
  std::int64_t top = 0;
  for (std::int64_t p = 1; p < row.size(); ++p) {
    if (row.hi[p] > row.hi[top] || (row.hi[p] == row.hi[top] && row.lo[p] > row.lo[top])) top = p;
  }
  return top;
}

void add_weights(const RowNumbers& row, const DdTerms& terms, WeightSum& sum) {
  double hi = 0.0;
  double lo = 0.0;
  double slack = 0.0;
  for (std::int64_t p = 0; p < row.size(); ++p) {
    const double w = row.hi[p];
    const DD s = two_sum(hi, w);
    hi = s.hi;
    const double partial = lo + s.lo;
    lo = partial + row.lo[p];
    slack += std::fabs(partial) + std::fabs(lo);
    sum.others += row.error[p];
    sum.exact = sum.exact && row.error[p] == 0.0 && (w == 0.0 || w == 1.0);
  }
  sum.total = two_sum(hi, lo);
  sum.slack = terms.sum * kU * slack;
}

/// L = Σ factor_p w_p. TwoProduct is exact: w >= 2^-808 and an f32 are above 2^-957, their last bit above 2^-1034. The
/// product with the low word joins the product's rest in an FMA, which rounds, and loses 2^-1075 if it is a subnormal.
void add_counted_weights(const RowNumbers& row, std::span<const double> factor, const DdTerms& terms, WeightSum& sum) {
  double hi = 0.0;
  double lo = 0.0;
  double slack = 0.0;
  for (std::int64_t p = 0; p < row.size(); ++p) {
    const double w = row.hi[p];
    const DD product = two_product(factor[p], w);
    const DD s = two_sum(hi, product.hi);
    hi = s.hi;
    const double partial = lo + s.lo;
    if (lo != 0.0 && s.lo != 0.0) slack += std::fabs(partial);
    const double rest = std::fma(factor[p], row.lo[p], product.lo);
    if (row.lo[p] != 0.0) slack += std::fabs(rest);
    lo = partial + rest;
    if (partial != 0.0 && rest != 0.0) slack += std::fabs(lo);
    sum.others += factor[p] * row.error[p];
    sum.exact = sum.exact && row.error[p] == 0.0 && (w == 0.0 || w == 1.0);
  }
  sum.total = two_sum(hi, lo);
  sum.slack = terms.sum * kU * slack + (sum.exact ? 0.0 : 0x1p-1040);
  sum.underflow *= 0x1p150;  // L is at least the f32 of top
}

/// log x for 2^-150 <= x <= 2^160: 2^31 weights, each times an f32.
Rounded log_dd(DD x, const DdTerms& terms) {
  if (x.hi == 1.0 && x.lo == 0.0) return {};
  const double y = std::log(x.hi);  // near enough, which |d| proves; any libm
  // x e^-y = 1 + d, so log x = y + log(1 + d) = y + d − d²/2 + (less than d³/2).
  const DD d = x * exp_dd({-y, 0.0}) - 1.0;
  if (!(std::fabs(d.hi) <= 0x1p-45)) return {{y, 0.0}, kInfinity};
  const DD value = (d + -0.5 * d.hi * d.hi) + y;
  const double of_exp = y == 0.0 ? 0.0 : kDdExpError + kDdMulError;  // exp_dd(0) = 1, and x·1 = x
  const double error = of_exp + 2 * kDdAddDoubleError * std::fabs(d.hi) + kDdAddDoubleError * std::fabs(value.hi) +
                       0x1p-134;  // d³/2, and the rounding of d²/2
  return {value, terms.log * error};
}

}  // namespace

namespace {

/// The weights, without their sum.
WeightSum weigh_alone(RowNumbers& row, double roundings, const DdTerms& terms) {
  WeightSum sum;
  sum.top = largest(row);
  sum.m = {row.hi[sum.top], row.lo[sum.top]};
  const double top_error = row.error[sum.top];
  sum.shift = top_error > kLooseTop ? top_error : 0.0;
  if (roundings < 0) {
    weigh_dd(sum.m, sum.shift, terms, row);
  } else {
    weigh_fp64(sum.m, sum.shift, roundings, terms, row);
  }
  // The weight of top is 1, off by top_error, or by nothing if m is its exact score. It is pulled out of the sums.
  sum.top_radius = sum.shift > 0 ? 0.0 : top_error + top_error * top_error;
  row.hi[sum.top] = 1.0;
  row.lo[sum.top] = row.error[sum.top] = 0.0;
  row.spread[sum.top] = roundings < 0 ? 0.0 : terms.pv * roundings * kU;
  return sum;
}

void set_low(WeightSum& sum) {
  sum.exact = sum.exact && sum.top_radius == 0.0;
  // 2^-40 of the total is more than total.lo and the roundings of this line.
  sum.low = sum.total.hi * (1 - 0x1p-40) - (sum.others + sum.slack + sum.top_radius) * kInflate;
}

}  // namespace

WeightSum weigh(RowNumbers& row, double roundings, const DdTerms& terms) {
  WeightSum sum = weigh_alone(row, roundings, terms);
  add_weights(row, terms, sum);
  set_low(sum);
  return sum;
}

WeightSum weigh(RowNumbers& row, std::span<const double> factor, const DdTerms& terms) {
  WeightSum sum = weigh_alone(row, -1.0, terms);
  add_counted_weights(row, factor, terms, sum);
  set_low(sum);
  return sum;
}

Ball ratio_ball(DD numerator, double slack, double top_value, const WeightSum& sum, const DdTerms& terms) {
  if (!(sum.low > 0)) return {0.0, 0.0, kInfinity};
  const auto [q, division] = divide(numerator, sum.total);
  const double size = std::fabs(q.hi);
  const double of_top = sum.top_radius * (std::fabs(top_value - q.hi) + 2 * kU * size);
  const double of_quotient = terms.division * division * sum.total.hi;
  double radius = (slack + size * (sum.others + sum.slack) + of_top + of_quotient) / sum.low;
  // All zero: nothing to underflow. (No spread underflows: a weight is bounded from e^kSkip on.)
  const bool zero = numerator.hi == 0.0 && slack == 0.0 && top_value == 0.0;
  if (!sum.exact && !zero) radius += sum.underflow;
  return ball(q, radius);
}

Ball share_ball(const RowNumbers& row, std::int64_t position, double factor, const WeightSum& sum,
                const DdTerms& terms) {
  if (!(sum.low > 0)) return {0.0, 0.0, kInfinity};
  // o = w_j / L is the ratio with v_j = 1 and all other v = 0; an error of w_j is one of L, factor times.
  const double own = position == sum.top ? sum.top_radius : row.error[position];
  const auto [q, division] = divide({row.hi[position], row.lo[position]}, sum.total);
  const double rest = std::fabs(1.0 - factor * q.hi) + 4 * kU;
  const double of_quotient = terms.division * division * sum.total.hi;
  double radius = (own * rest + q.hi * (sum.others + sum.top_radius + sum.slack) + of_quotient) / sum.low;
  if (!sum.exact) radius += sum.underflow;
  return ball(q, radius);
}

Ball scaled_ball(const Ball& share, double value, const WeightSum& sum, const DdTerms& terms) {
  if (!(share.radius < kInfinity)) return share;
  if (value == 0.0) return {};
  const DD product = DD{share.hi, share.lo} * value;
  double radius = share.radius * std::fabs(value);
  if (!exact_factor(value) && share.lo != 0.0) radius += terms.pv * kDdMulDoubleError * std::fabs(product.hi);
  if (!sum.exact) radius += sum.underflow;
  return ball(product, radius);
}

Ball lse_ball(const WeightSum& sum, const DdTerms& terms) {
  if (!(sum.low > 0)) return {sum.m.hi, 0.0, kInfinity};
  const Rounded log = log_dd(sum.total, terms);
  const Rounded value = add(sum.m, log.value);
  // With ρ the relative error of the sum, |log L − log L^| <= −log(1 − ρ) <= ρ / (1 − ρ).
  const double of_sum = (sum.others + sum.slack + sum.top_radius) / sum.low;
  return ball(value.value, sum.shift + log.error + terms.log * value.error + of_sum);
}

}  // namespace flashproof
