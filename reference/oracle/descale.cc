#include "reference/oracle/descale.h"

#include <cmath>

#include "reference/oracle/environment_guard.h"

namespace flashproof {

ScoreFactor score_factor(const AttentionProblem& problem, std::int64_t sequence, std::int64_t kv_head) {
  const double scale = problem.scale;
  if (problem.q_descale.shape.empty() && problem.k_descale.shape.empty()) return {scale, 0.0};
  const double first = scale * AttentionProblem::descale(problem.q_descale, sequence, kv_head);  // 48 bits: exact
  const double last = AttentionProblem::descale(problem.k_descale, sequence, kv_head);
  const double product = first * last;
  return {product, std::fma(first, last, -product)};  // multiples of 2^-447: the rest is exact
}

// hi·f = p + e exactly, where p >= 2^-960 puts the last bit of e above 2^-1074; lo·f + e rounds once, and not if lo = 0. The
// sums that make the radius round at most eight times, each by a relative 2^-53.
Ball descaled(const Ball& ball, double factor) {
  if (factor == 1.0) return ball;
  if (factor == 0.0) return {.classes = ball.classes};
  Ball result{.classes = ball.classes};
  const double product = ball.hi * factor;
  const double rest = std::fma(ball.hi, factor, -product);
  const double low = std::fma(ball.lo, factor, rest);
  result.hi = product + low;
  result.lo = low - (result.hi - product);  // Dekker: |low| <= |product|
  double radius = ball.radius * std::fabs(factor);
  if (ball.radius > 0.0) radius += 0x1p-1070;
  if (ball.lo != 0.0) radius += 0x1p-53 * std::fabs(low) + 0x1p-1070;
  if (ball.hi != 0.0 && std::fabs(product) < 0x1p-960) radius += 0x1p-1070;
  result.radius = radius * (1 + 0x1p-49);
  return result;
}

std::uint8_t descaled_classes(std::uint8_t classes, double factor) {
  if (factor > 0.0 || classes == kFinite) return classes;
  if (factor == 0.0) return kNaN;
  const int rest = classes & ~(kPosInf | kNegInf);
  return static_cast<std::uint8_t>(rest | ((classes & kPosInf) != 0 ? kNegInf : 0) |
                                   ((classes & kNegInf) != 0 ? kPosInf : 0));
}

}  // namespace flashproof
