// The descale factors of attention as the tiers use them: the exact product that multiplies q·k, and what v_descale makes of
// a finished ball. Problems without them pay for a test of two shapes.
#pragma once

#include <cstdint>

#include "reference/oracle/truth.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// hi + lo = scale·q_descale·k_descale exactly: three f32 numbers have 72 bits together, hi takes 53 of them. hi is the product
/// rounded to nearest, |lo| <= 2^-53 |hi|, and 0 only where the product is. Both are multiples of 2^-447 below 2^384.
struct ScoreFactor {
  double hi = 1, lo = 0;
};
ScoreFactor score_factor(const AttentionProblem& problem, std::int64_t sequence, std::int64_t kv_head);

inline double value_factor(const AttentionProblem& problem, std::int64_t sequence, std::int64_t kv_head) {
  return AttentionProblem::descale(problem.v_descale, sequence, kv_head);
}

/// Of a number times the factor, a finite f32. 0 times a number is exactly 0, even if nothing else is known of it.
Ball descaled(const Ball& ball, double factor);
/// What the factor makes of classes of results that are not all finite: an infinity changes sign or, times 0, is NaN.
std::uint8_t descaled_classes(std::uint8_t classes, double factor);

}  // namespace flashproof
