// One leaf's perturbed weight and its share of the row's sums: as scalars here, eight at a time in weights-inl.h. Both
// evaluate the formulas of README.md, "Weights"; they differ by roundings that kSlack covers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "reference/bound/row/row_model.h"

namespace flashproof::bound {

/// Up to here e^x − 1 is evaluated by its series; e^700 and its inverse are normal.
inline constexpr double kSmallLog = 1.0 / 16;
inline constexpr double kDeepest = -700;
inline constexpr double kVanished = -750;  // e^x is 0 in double

/// Sums over the leaves, all of them upper bounds but `low`.
struct WeightSums {
  double q = 0, low = 0;
  double loss = 0;        // Σ p − least
  double shrink = 0;      // Σ (p + q)(1 − e^−G)
  double swell = 0;       // Σ (p + q)(e^G − 1)
  double own_square = 0;  // Σ (p own)²
  double coherent = 0;    // Σ q − p own
  double rest = 0;        // Σ (p + q)(e^G − 1) − p G
  double longest_g = 0, longest_r = 0;
  double slop = 0;  // largest slop_j / p_j
};

/// What every leaf of a row shares.
struct WeightScale {
  double max = 0, sum = 1, log_sum = 0;
  double pivot_error = 0;
  double unit = 1;        // of the lost weights
  double evaluation = 0;  // relative, of p itself
};

/// Σ e^{score − max} >= 1, to n 2^-52 of it.
double sum_of_weights(const std::vector<double>& score, double max);
/// The same of a part of them: to n 2^-52 of it and 2^-1000.
double sum_of_weights(const double* score, std::size_t n, double max);

inline void weigh_leaf(const RowModel& row, const WeightScale& scale, std::size_t j, RowWeights& to, WeightSums& sums) {
  const Leaves& leaves = row.leaves;
  const double score_error = row.frame.score_error(leaves, j);
  const double exponent = (score_error + leaves.exponent[j]) * kSlack;
  const double lost = leaves.lost[j] == 0 ? 0 : leaves.lost[j] / scale.unit;
  const double log_p = leaves.score[j] - scale.max - scale.log_sum;
  // Every exponential below is exactly 0 there, and slow.
  const bool vanishes = log_p < kVanished && log_p + exponent < kVanished;
  const double p = vanishes ? 0 : std::exp(log_p);
  const double q = ((vanishes ? 0 : scaled_expm1(log_p, exponent)) + lost) * kSlack;
  const double least = vanishes ? 0 : std::max(0.0, std::exp(log_p - exponent) - lost) / kSlack;
  to.p[j] = p;
  to.q[j] = q;
  to.least[j] = least;
  // Both p and what it stands for lie in [0, 1].
  const double doubt = vanishes ? 0 : scaled_expm1(log_p, 0x1p-24 * score_error);
  to.slop[j] = std::min(doubt + scale.evaluation * p, 1.0);
  const double g = leaves.denominator[j];
  const double own = p * leaves.own[j];
  sums.q += q;
  sums.low += least;
  if (!vanishes) sums.loss += std::min(p * -std::expm1(-exponent) + lost, p);
  if (g != 0) {
    sums.shrink += (p + q) * -std::expm1(-g);
    sums.swell += (p + q) * growth(g);
    sums.rest += std::max(0.0, (p + q) * growth(g) - p * g);
  }
  sums.own_square += own * own;
  sums.coherent += std::max(0.0, q - own);
  if (to.slop[j] > 0) sums.slop = std::max(sums.slop, to.slop[j] / p);
  sums.longest_g = std::max(sums.longest_g, g);
  sums.longest_r = std::max(sums.longest_r, leaves.numerator[j]);
}

namespace kernels {

/// Σ e^{score − max} over the first n scores, n a multiple of 8. Those below kDeepest count as 0.
double weight_sum(const double* score, std::int64_t n, double max);

/// weigh_leaf() for the leaves [0, n), n a multiple of 8: all eight of a group, or none of them where one needs the
/// general form. Groups left out are listed in `left`, by their first leaf; their number is returned.
std::int64_t weigh(const RowModel& row, const WeightScale& scale, std::int64_t n, RowWeights& to, WeightSums& sums,
                   std::int64_t* left);

}  // namespace kernels
}  // namespace flashproof::bound
