#include "reference/bound/row/row_model.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "reference/bound/row/row_weights.h"
#include "reference/bound/vector/kernels.h"
#include "reference/bound/vector/key_loops.h"

namespace flashproof::bound {

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
  const std::size_t n = leaves.size();
  const double* const score = leaves.score.data();
  const double* const error = leaves.score_error.data();
  std::size_t done = kernels::supported() ? n / 8 * 8 : 0;
  double max = score[0], error_max = 0;
  if (done > 0) kernels::largest_score(score, error, static_cast<std::int64_t>(done), max, error_max);
  for (std::size_t j = done; j < n; ++j) {
    max = std::max(max, score[j]);
    error_max = std::max(error_max, error[j]);
  }
  const auto best = static_cast<std::size_t>(std::find(score, score + n, max) - score);
  frame.max = leaves.score[best];
  frame.error = error_max;
  const double certain = leaves.score[best] - leaves.score_error[best];
  std::int64_t others = score[best] + error[best] > certain ? -1 : 0;
  if (done > 0) others += kernels::count_above(score, error, static_cast<std::int64_t>(done), certain);
  for (std::size_t j = done; j < n; ++j) others += score[j] + error[j] > certain ? 1 : 0;
  if (others > 0) return frame;
  if (sum_of_weights(leaves.score, frame.max) <= 2) {
    frame.pivot = static_cast<std::ptrdiff_t>(best);
    frame.pivot_error = frame.error = leaves.score_error[best];
  }
  return frame;
}

}  // namespace flashproof::bound
