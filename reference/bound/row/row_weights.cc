#include "reference/bound/row/row_weights.h"

#include "reference/bound/vector/kernels.h"
#include "reference/problem/special_values.h"

namespace flashproof::bound {

namespace {

/// min(Σ (p + q) x / low, max x); low may be 0, and so may the sum.
double average_of(double sum, double low, double largest) {
  const double closed = sum / low * kSlack;
  return (closed < largest ? closed : largest) * kSlack;
}

}  // namespace

double sum_of_weights(const double* score, std::size_t n, double max) {
  std::size_t done = kernels::supported() ? n / 8 * 8 : 0;
  // What is left out below e^-700 is less than n 2^-1000: nothing beside a sum that is at least 1.
  double sum = done > 0 ? kernels::weight_sum(score, static_cast<std::int64_t>(done), max) : 0;
  for (; done < n; ++done) sum += std::exp(score[done] - max);
  return sum;
}

double sum_of_weights(const std::vector<double>& score, double max) {
  return sum_of_weights(score.data(), score.size(), max);
}

void perturbed_weights(const RowModel& row, RowWeights& weights) {
  const Leaves& leaves = row.leaves;
  const Frame& frame = row.frame;
  const std::size_t n = leaves.size();
  for (auto* array : {&weights.p, &weights.q, &weights.least, &weights.slop}) array->resize(n);

  WeightScale scale;
  scale.max = frame.max;
  scale.sum = sum_of_weights(leaves.score, frame.max);
  scale.log_sum = std::log(scale.sum);
  scale.pivot_error = frame.pivot_error;
  // Lower bound of e^{lse − f + κ}: the unit of p in the frame f.
  scale.unit = (frame.pivot >= 0 ? scale.sum : scale.sum * std::exp(-frame.error)) * std::exp(-row.common - row.lead);
  // n 2^-52 for the sums, 2^-42 for the exponential of an argument up to 745.
  scale.evaluation = 0x1p-36 + static_cast<double>(n) * 0x1p-52;
  WeightSums sums;
  std::size_t first = 0;  // of what the vectors did not do
  if (kernels::supported()) {
    std::vector<std::int64_t>& left = weights.scratch;
    left.resize(n / 8 + 1);
    first = n / 8 * 8;
    const std::int64_t count = kernels::weigh(row, scale, static_cast<std::int64_t>(first), weights, sums, left.data());
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < 8; ++j) weigh_leaf(row, scale, static_cast<std::size_t>(left[i]) + j, weights, sums);
    }
  }
  for (; first < n; ++first) weigh_leaf(row, scale, first, weights, sums);

  weights.lse = frame.max + scale.log_sum;
  weights.low = std::max(sums.low / kSlack, 1 - sums.loss * kSlack);  // Σ p = 1, so nothing is lost beside it
  weights.up = 1 + sums.q * kSlack;
  // The maximum itself weighs e^{−lead} at least, but for κ: unless it may be lost.
  const double largest_error = std::min(row.largest_error, 690.0);  // 0 would leave 0/0
  const double largest = row.largest_leads ? std::exp(-row.common - row.lead - largest_error) : 0x1p-1000;
  weights.sum = std::max(largest, weights.low * scale.unit) / kSlack;

  // Upwards ln up, downwards −ln low. Without a lead the computed sum of weights also lies in [1, n] times e^{m̂−f},
  // whatever the scores: every weight is at most the maximum's.
  const double count = std::log(static_cast<double>(n)) + row.above;
  const double boxes = std::max(std::log(weights.up), -std::log(weights.low));
  weights.frame = frame.pivot_error + row.common;
  weights.lse_weights = weights.frame +
                        (row.lead > 0 || !row.largest_leads ? boxes : std::min(boxes, frame.error + count)) * kSlack +
                        0x1p-50;
  const double underflow = row.denominator_underflow == 0 ? 0 : row.denominator_underflow / weights.sum;
  const double shrink = average_of(sums.shrink, weights.low, -std::expm1(-sums.longest_g)) + underflow;
  weights.denominator = shrink < 1 ? shrink * kSlack : kInfinity;
  weights.denominator_up = (average_of(sums.swell, weights.low, growth(sums.longest_g)) + underflow) * kSlack;
  weights.log_sum = std::max(std::min(scale.log_sum + frame.error + weights.lse_weights, count) + row.lag, row.lead) +
                    row.common + std::max(-std::log1p(-std::min(weights.denominator, 1.0)), weights.denominator_up);
  weights.longest_numerator = sums.longest_r;
  weights.slop_ratio = sums.slop;

  weights.own_square = sums.own_square;
  weights.coherent = sums.coherent;
  weights.denominator_square = row.denominator_square;
  weights.denominator_rest = sums.rest;
  weights.denominator_absolute = underflow;
}

RowWeights perturbed_weights(const RowModel& row) {
  RowWeights weights;
  perturbed_weights(row, weights);
  return weights;
}

}  // namespace flashproof::bound
