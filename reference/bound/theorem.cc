#include "reference/bound/theorem.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace flashproof::bound {

double ending_error(int count, double magnitude) {
  return count == 0 ? 0 : growth(roundings(count)) * magnitude + count * 0x1p-150;
}

double vacuity_range(double lowest, double highest) {
  if (highest > lowest) {
    return highest - lowest;
  }
  return highest != 0 ? std::fabs(highest) : std::numeric_limits<double>::infinity();
}

double denominator_error(const RowWeights& weights, double magnitude) {
  if (!(weights.denominator < 1)) {
    return std::numeric_limits<double>::infinity();
  }
  return weights.denominator / (1 - weights.denominator) * magnitude * kSlack;
}

ElementBound column_bound(const RowModel& row, const RowWeights& weights, const std::vector<double>& values, int ending,
                          double& range) {
  const auto& p = weights.p;
  double o = 0;
  double o_slop = 0;  // |o − exact|
  double lowest = values.front();
  double highest = values.front();
  for (std::size_t j = 0; j < p.size(); ++j) {
    o += p[j] * values[j];
    o_slop += values[j] == 0 ? 0 : weights.slop[j] * std::fabs(values[j]);
    lowest = std::min(lowest, values[j]);
    highest = std::max(highest, values[j]);
  }
  o_slop = std::min(o_slop, highest - lowest) * kSlack;
  range = vacuity_range(lowest, highest);

  // õ − o = Σ p_j ω_j (v_j − o) / Σ p_j (1 + ω_j); õ is a mean of the v_j, so it is never further than the farthest.
  double shifted = 0;
  for (std::size_t j = 0; j < p.size(); ++j) {
    const double distance = std::fabs(values[j] - o) + o_slop;  // q may be inf, and inf · 0 is a NaN
    shifted += weights.q[j] == 0 || distance == 0 ? 0 : weights.q[j] * distance;
  }
  const double farthest = std::max(highest - o, o - lowest) + o_slop;
  const double magnitude = std::fabs(o) + o_slop;

  ElementBound bound;
  bound.weights = shifted == 0 ? 0 : std::min(shifted / weights.low, farthest) * kSlack;
  bound.numerator = weights.average([&](std::size_t j) {
    return growth(row.leaves.numerator[j]) * std::fabs(values[j]);
  }) * kSlack + row.numerator_underflow;
  bound.denominator = denominator_error(weights, magnitude + bound.weights + bound.numerator);
  bound.output = ending_error(ending, magnitude + bound.weights + bound.numerator + bound.denominator) * kSlack;
  return bound;
}

void column_bounds(const RowModel& row, const RowWeights& weights, const double* values, std::int64_t width, int ending,
                   ElementBound* bounds, double* ranges) {
  const auto& key = row.leaves.key;
  std::vector<double> column(key.size());
  for (std::int64_t c = 0; c < width; ++c) {
    bool finite = true;
    for (std::size_t j = 0; j < key.size(); ++j) {
      column[j] = key[j] < 0 ? 0 : values[key[j] * width + c];
      finite = finite && std::isfinite(column[j]);
    }
    if (finite) {
      bounds[c] = column_bound(row, weights, column, ending, ranges[c]);
    } else {
      bounds[c] = {};
      ranges[c] = std::numeric_limits<double>::infinity();
    }
  }
}

ElementBound lse_bound(const RowWeights& weights, double log_error) {
  ElementBound bound;
  bound.weights = weights.lse_weights;
  bound.denominator = -std::log1p(-std::min(weights.denominator, 1.0)) * kSlack;
  bound.output = log_error * std::max(weights.log_sum, bound.denominator) * kSlack;
  return bound;
}

}  // namespace flashproof::bound
