#include "reference/bound/row_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace flashproof::bound {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

}  // namespace

double roundings(double n) { return n * (kU + kU * kU); }  // >= −n ln(1 − u)

double growth(double log_units) { return std::expm1(log_units) * kSlack; }

double scaled_expm1(double log_p, double x) { return x < 1 ? std::exp(log_p) * std::expm1(x) : std::exp(log_p + x); }

int log2_ceil(int n) { return std::bit_width(static_cast<unsigned>(n - 1)); }

void Leaves::resize(std::size_t n) {
  key.resize(n);
  score.resize(n);
  for (auto* array :
       {&score_error, &exponent, &numerator, &denominator, &lost, &lost_numerator, &own, &own_numerator}) {
    array->assign(n, 0.0);
  }
}

// Its computed weight is exactly 1, and every other weight depends on the difference of two scores (README.md, "pivot"):
// better than the absolute form where the pivot carries the weight.
Frame frame_of(const Leaves& leaves) {
  Frame frame;
  std::size_t best = 0;
  double error_max = 0;
  for (std::size_t j = 0; j < leaves.size(); ++j) {
    best = leaves.score[j] > leaves.score[best] ? j : best;
    error_max = std::max(error_max, leaves.score_error[j]);
  }
  frame.max = leaves.score[best];
  frame.error = error_max;
  double sum = 0;
  for (std::size_t j = 0; j < leaves.size(); ++j) {
    sum += std::exp(leaves.score[j] - frame.max);
    if (j != best && leaves.score[j] + leaves.score_error[j] > leaves.score[best] - leaves.score_error[best]) {
      return frame;
    }
  }
  if (sum <= 2) {
    frame.pivot = static_cast<std::ptrdiff_t>(best);
    frame.pivot_error = frame.error = leaves.score_error[best];
  }
  return frame;
}

double exponent_slope(const Arithmetic& arithmetic) {
  // fl(log2 e) differs from log2 e by 1.335e-8 of it; the product rounds once more.
  constexpr double kLog2eError = 0x1.dp-27;
  return arithmetic.exponent == Exponent::accurate ? kU : ((1 + kU) * (1 + kU) * (1 + kLog2eError) - 1) * (1 + 0x1p-40);
}

void charge_path(RowModel& row, const Arithmetic& arithmetic, std::size_t j, int exps, int shared) {
  if (static_cast<std::ptrdiff_t>(j) == row.frame.pivot) {
    return;  // every argument on its path is 0
  }
  Leaves& leaves = row.leaves;
  const double below = row.frame.max - leaves.score[j];
  const double path = row.frame.path(leaves, j);
  leaves.exponent[j] = (exponent_slope(arithmetic) * path - exps * std::log1p(-arithmetic.exp_error) +
                        roundings(shared) + 0x1p-50 * below) *
                       kSlack;
  const int factors = exps + shared;
  if (path + leaves.exponent[j] + row.frame.score_error(leaves, j) >= kLogMinNormal - 0x1p-20) {
    leaves.lost[j] = factors * exp_underflow(arithmetic) * std::exp(2 * arithmetic.exp_error * factors);
  }
}

RowWeights perturbed_weights(const RowModel& row) {
  const Leaves& leaves = row.leaves;
  const Frame& frame = row.frame;
  RowWeights weights;
  double sum = 0;
  for (const double score : leaves.score) {
    sum += std::exp(score - frame.max);
  }
  const double log_sum = std::log(sum);
  weights.lse = frame.max + log_sum;
  const double frame_low = frame.pivot >= 0 ? sum : sum * std::exp(-frame.error);  // lower bound of e^{lse − m̂}

  double q_sum = 0;
  double low = 0;
  for (std::size_t j = 0; j < leaves.size(); ++j) {
    const double below = frame.max - leaves.score[j];
    const double score_error = frame.score_error(leaves, j);
    const double exponent = (score_error + leaves.exponent[j]) * kSlack;       // H_j
    const double lost = leaves.lost[j] == 0 ? 0 : leaves.lost[j] / frame_low;  // Z_j / L
    const double log_p = -below - log_sum;
    weights.p.push_back(std::exp(log_p));
    weights.q.push_back((scaled_expm1(log_p, exponent) + lost) * kSlack);
    // p itself: n 2^-52 for the sums, 2^-42 for the exponential of an argument up to 745, and the scores' own doubt.
    // Both p and what it stands for lie in [0, 1].
    const double evaluation = (0x1p-36 + static_cast<double>(leaves.size()) * 0x1p-52) * weights.p.back();
    weights.slop.push_back(std::min(scaled_expm1(log_p, 0x1p-24 * score_error) + evaluation, 1.0));
    q_sum += weights.q.back();
    low += std::max(0.0, std::exp(log_p - exponent) - lost);
  }
  weights.low = low / kSlack;
  weights.up = (1 + q_sum) * kSlack;

  // Upwards ln up, downwards −ln low (by Cauchy-Schwarz the smaller one, but for the subnormal part). Whatever the
  // scores, the computed sum of weights lies in [1, n]: every weight is at most 1, the largest is 1.
  const double count = std::log(static_cast<double>(leaves.size()));
  weights.lse_weights = frame.pivot_error + row.common +
                        std::min(std::max(std::log(weights.up), -std::log(weights.low)), frame.error + count) * kSlack +
                        0x1p-50;
  const double denominator =
      weights.average([&](std::size_t j) { return growth(leaves.denominator[j]); }) + row.denominator_underflow;
  weights.denominator = denominator < 1 ? denominator : kInf;
  weights.log_sum = std::min(log_sum + frame.error + weights.lse_weights, count) + 2 * weights.denominator;
  return weights;
}

}  // namespace flashproof::bound
