#include "reference/bound/row_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace flashproof::bound {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
// ln of the smallest normal f32: a weight, and every factor on its way, that certainly stays above has no subnormal
// part.
constexpr double kLogMinNormal = -87.336544;

/// The leaf that certainly is the maximum of the computed scores, or −1. Its computed weight is exactly 1, and every
/// other weight depends on the difference of two scores (README.md, "pivot").
std::ptrdiff_t certain_maximum(const RowModel& row) {
  const auto& leaves = row.leaves;
  std::size_t best = 0;
  for (std::size_t j = 1; j < leaves.size(); ++j) {
    if (leaves[j].score > leaves[best].score) {
      best = j;
    }
  }
  for (std::size_t j = 0; j < leaves.size(); ++j) {
    if (j != best && leaves[j].score + leaves[j].score_error > leaves[best].score - leaves[best].score_error) {
      return -1;
    }
  }
  return static_cast<std::ptrdiff_t>(best);
}

}  // namespace

double scaled_expm1(double log_p, double x) { return x < 1 ? std::exp(log_p) * std::expm1(x) : std::exp(log_p + x); }

int log2_ceil(int n) { return std::bit_width(static_cast<unsigned>(n - 1)); }

double growth(int n) { return std::expm1(n * std::log1p(kU)) * kSlack; }

RowWeights perturbed_weights(const RowModel& row) {
  const auto& leaves = row.leaves;
  RowWeights weights;
  double m = -kInf;
  double error_max = 0;
  for (const Leaf& leaf : leaves) {
    m = std::max(m, leaf.score);
    error_max = std::max(error_max, leaf.score_error);
  }
  double sum = 0;
  for (const Leaf& leaf : leaves) {
    sum += std::exp(leaf.score - m);
  }
  const double log_sum = std::log(sum);
  weights.lse = m + log_sum;

  // The pivot form pays D_j + D_pivot per leaf and nothing for the pivot: better where the pivot carries the weight.
  std::ptrdiff_t pivot = certain_maximum(row);
  if (pivot >= 0 && sum > 2) {
    pivot = -1;
  }
  const double pivot_error = pivot >= 0 ? leaves[pivot].score_error : 0;
  const double frame_error = pivot >= 0 ? pivot_error : error_max;         // |m̂ − m|
  const double frame_low = pivot >= 0 ? sum : sum * std::exp(-error_max);  // lower bound of e^{lse − m̂}

  double q_sum = 0;
  double low = 0;
  for (std::size_t j = 0; j < leaves.size(); ++j) {
    const Leaf& leaf = leaves[j];
    const bool is_pivot = static_cast<std::ptrdiff_t>(j) == pivot;
    const double score_error = is_pivot ? 0 : leaf.score_error + pivot_error;
    const double below = m - leaf.score;
    const double path = below + leaf.score_error + frame_error;  // >= m̂ − ŝ_j
    double exponent = 0;                                         // H_j
    if (!is_pivot) {
      exponent = score_error + row.exponent_slope * path - leaf.exps * std::log1p(-row.exp_error) -
                 leaf.shared * std::log1p(-kU) + 0x1p-50 * below;
    }
    exponent *= kSlack;
    const int factors = leaf.exps + leaf.shared;
    const bool may_underflow = !is_pivot && path + exponent >= -kLogMinNormal - 0x1p-20;
    const double underflow = may_underflow
                                 ? factors * kExpUnderflowError * std::exp(2 * row.exp_error * factors) / frame_low
                                 : 0;  // Z_j / L
    const double log_p = -below - log_sum;
    weights.p.push_back(std::exp(log_p));
    weights.q.push_back((scaled_expm1(log_p, exponent) + underflow) * kSlack);
    // p itself: n 2^-52 for the sums, 2^-42 for the exponential of an argument up to 745, and the scores' own doubt.
    // Both p and what it stands for lie in [0, 1].
    const double evaluation = (0x1p-36 + static_cast<double>(leaves.size()) * 0x1p-52) * weights.p.back();
    weights.slop.push_back(std::min(scaled_expm1(log_p, 0x1p-24 * score_error) + evaluation, 1.0));
    q_sum += weights.q.back();
    low += std::max(0.0, std::exp(log_p - exponent) - underflow);
  }
  weights.low = low / kSlack;
  weights.up = (1 + q_sum) * kSlack;

  // Upwards ln up, downwards −ln low (by Cauchy-Schwarz the smaller one, but for the subnormal part). Whatever the
  // scores, the computed sum of weights lies in [1, n]: every weight is at most 1, the largest is 1.
  const double count = std::log(static_cast<double>(leaves.size()));
  weights.lse_weights = pivot_error +
                        std::min(std::max(std::log(weights.up), -std::log(weights.low)), error_max + count) * kSlack +
                        0x1p-50;
  const double denominator =
      weights.average([&](std::size_t j) { return growth(leaves[j].denominator); }) + row.denominator_underflow;
  weights.denominator = denominator < 1 ? denominator : kInf;
  weights.log_sum = std::min(log_sum + frame_error + weights.lse_weights, count) + 2 * weights.denominator;
  return weights;
}

}  // namespace flashproof::bound
