#include "reference/bound/row/theorem.h"

#include <algorithm>
#include <cmath>

#include "reference/bound/costs.h"
#include "reference/bound/row/linear_fractional.h"
#include "reference/bound/row/probable.h"
#include "reference/bound/vector/column_sums.h"
#include "reference/problem/special_values.h"

namespace flashproof::bound {

namespace {

/// x/y of a bound: nothing over nothing is nothing.
double over(double x, double y) { return x == 0 ? 0 : x / y; }

/// The same parts with the weights anywhere in their boxes; never above the closed form.
void refine(const RowModel& row, const RowWeights& weights, const std::vector<double>& values, const ColumnSums& sums,
            const EndingModel& ending, ElementBound& bound) {
  const std::size_t n = values.size();
  std::vector<double> least(n);
  std::vector<double> most(n);
  std::vector<double> x(n);
  for (std::size_t j = 0; j < n; ++j) {
    least[j] = weights.least_of(j);
    most[j] = (weights.p[j] + weights.q[j]) * kSlack;
    x[j] = growth(row.leaves.numerator[j]) * std::fabs(values[j]);
  }
  const double above = largest_mean(values, least, most) - sums.o;
  const double below = sums.o - smallest_mean(values, least, most);
  bound.weights = std::min(bound.weights, (std::max(above, below) + sums.o_slop) * kSlack);
  const double mean = std::ranges::max(x) < kInfinity ? largest_mean(x, least, most) : kInfinity;
  bound.numerator =
      std::min(bound.numerator, mean * kSlack + over(sums.lost + row.numerator_underflow, weights.sum) * kSlack);
  finish_parts(weights, sums, ending, bound);
}

}  // namespace

double ColumnSums::magnitude() const {
  return std::min(std::fabs(o) + o_slop, std::max(std::fabs(lowest), std::fabs(highest)));
}

// Exactly, o lies between the extremes.
double ColumnSums::farthest() const { return std::min(std::max(highest - o, o - lowest) + o_slop, highest - lowest); }

ColumnSums column_sums(const RowModel& row, const RowWeights& weights, const std::vector<double>& values) {
  const auto& p = weights.p;
  ColumnSums sums;
  sums.lowest = sums.highest = values.front();
  for (std::size_t j = 0; j < p.size(); ++j) {
    const double size = std::fabs(values[j]);
    sums.lowest = std::min(sums.lowest, values[j]);
    sums.highest = std::max(sums.highest, values[j]);
    if (size == 0) {
      continue;  // and q may be inf, and inf · 0 is a NaN
    }
    sums.o += p[j] * values[j];
    sums.size += p[j] * size;
    sums.o_slop += weights.slop[j] * size;
    sums.numerator += numerator_weight(row, weights, j) * size;
    sums.lost += row.leaves.lost_numerator[j] * size;
    sums.numerator_rest += chance_rest(row, weights, j) * size;
    const double own = p[j] * row.leaves.own_numerator[j] * size;
    sums.numerator_own_square += own * own;
  }
  sums.o = std::clamp(sums.o, sums.lowest, sums.highest);  // the exact one lies between
  sums.o_slop = std::min(sums.o_slop, sums.highest - sums.lowest) * kSlack;
  sums.size = (sums.size + sums.o_slop) * kSlack;
  for (std::size_t j = 0; j < p.size(); ++j) {
    const double distance = std::fabs(values[j] - sums.o) + sums.o_slop;
    if (distance == 0) {
      continue;
    }
    sums.shifted += weights.q[j] * distance;
    sums.coherent += chance_coherent(row, weights, j) * distance;
    const double own = p[j] * row.leaves.own[j] * distance;
    sums.own_square += own * own;
  }
  return sums;
}

double ending_error(const EndingModel& ending, double magnitude) {
  if (ending.log_units == 0) return ending.underflow;
  const double relative = growth(ending.log_units);  // may be inf beside a 0
  return (magnitude == 0 ? 0 : relative * magnitude) + (ending.underflow == 0 ? 0 : (1 + relative) * ending.underflow);
}

double division_free_error(double lse_error, double magnitude) {
  return magnitude == 0 ? 0 : growth(lse_error) * magnitude;
}

EndingModel division_free_ending(const RowWeights& weights, const Arithmetic& arithmetic, double lse_size) {
  const double log =
      logarithm_cost(arithmetic.log_error, arithmetic.log_absolute, weights.log_sum) + kU * lse_size * (1 + kU);
  const double argument = exponent_slope(arithmetic) * (weights.log_sum + log);
  const double units = log + argument - std::log1p(-arithmetic.exp_error);
  const double lost = factor_underflow_cost(arithmetic, {weights.log_sum + units}).count;
  return {(units + lost + roundings(1)) * kSlack, product_underflow(arithmetic)};
}

double vacuity_range(double lowest, double highest) {
  if (highest > lowest) {
    return highest - lowest;
  }
  return highest != 0 ? std::fabs(highest) : kInfinity;
}

// 1/(1 + g) − 1 for −Ḡ <= g <= Ḡ_up.
double denominator_error(const RowWeights& weights, double magnitude) {
  if (!(weights.denominator < 1)) {
    return kInfinity;
  }
  const double up = weights.denominator_up;
  const double share = std::max(weights.denominator / (1 - weights.denominator), up < kInfinity ? up / (1 + up) : 1);
  return share == 0 || magnitude == 0 ? 0 : share * magnitude * kSlack;  // magnitude may be inf
}

void finish_parts(const RowWeights& weights, const ColumnSums& sums, const EndingModel& ending, ElementBound& bound) {
  // õ is a mean of the values, whatever its error.
  const double mean =
      std::min(sums.magnitude() + bound.weights, std::max(std::fabs(sums.lowest), std::fabs(sums.highest)));
  bound.denominator = denominator_error(weights, mean + bound.numerator);
  bound.output = ending_error(ending, mean + bound.numerator + bound.denominator) * kSlack;
}

// õ − o = Σ p_j ω_j (v_j − o) / Σ p_j (1 + ω_j); õ is a mean of the v_j, so it is never further than the farthest.
ElementBound closed_form(const RowModel& row, const RowWeights& weights, const ColumnSums& sums,
                         const EndingModel& ending) {
  ElementBound bound;
  bound.weights = std::min(over(sums.shifted, weights.low), sums.farthest()) * kSlack;
  const double largest = std::max(std::fabs(sums.lowest), std::fabs(sums.highest));
  const double units = weights.longest_numerator;
  bound.numerator = (std::min(over(sums.numerator, weights.low), largest == 0 ? 0 : growth(units) * largest) +
                     over(sums.lost + row.numerator_underflow, weights.sum)) *
                    kSlack;
  finish_parts(weights, sums, ending, bound);
  return bound;
}

ElementBound column_bound(const RowModel& row, const RowWeights& weights, const std::vector<double>& values,
                          const EndingModel& ending, double& range, bool* refined) {
  const ColumnSums sums = column_sums(row, weights, values);
  range = vacuity_range(sums.lowest, sums.highest);
  ElementBound bound = closed_form(row, weights, sums, ending);
  const bool vacuous = is_vacuous(bound, range);
  if (vacuous) {
    refine(row, weights, values, sums, ending, bound);
  }
  if (refined != nullptr) {
    *refined = vacuous;
  }
  add_probable(row, weights, sums, bound);
  return bound;
}

std::int64_t column_bounds(const RowModel& row, const RowWeights& weights, const double* values, std::int64_t width,
                           const EndingModel& ending, ElementBound* bounds, double* ranges) {
  const auto& key = row.leaves.key;
  std::vector<double> column(key.size());
  std::int64_t solved = 0;
  for (std::int64_t c = 0; c < width; ++c) {
    bool finite = true;
    for (std::size_t j = 0; j < key.size(); ++j) {
      column[j] = key[j] < 0 ? 0 : values[key[j] * width + c];
      finite = finite && std::isfinite(column[j]);
    }
    bounds[c] = {};
    ranges[c] = kInfinity;
    if (finite) {
      bool refined = false;
      bounds[c] = column_bound(row, weights, column, ending, ranges[c], &refined);
      solved += refined ? 1 : 0;
    }
  }
  return solved;
}

ElementBound lse_bound(const RowWeights& weights, double log_error, double log_absolute) {
  ElementBound bound;
  bound.weights = weights.lse_weights;
  bound.denominator = std::max(-std::log1p(-std::min(weights.denominator, 1.0)), weights.denominator_up) * kSlack;
  bound.output = logarithm_cost(log_error, log_absolute, weights.log_sum) * kSlack;
  add_probable_lse(weights, bound);
  return bound;
}

}  // namespace flashproof::bound
