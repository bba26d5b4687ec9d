#include <algorithm>
#include <cmath>

#include "reference/oracle/environment_guard.h"
#include "reference/oracle/fp64/head_chunk.h"

namespace flashproof::attention64 {
namespace {

/// Everything that may have been lost below the range of double: README.md, "Underflow".
constexpr double kUnderflowFloor = 0x1p-900;

struct Log {
  double value, radius;
};

/// m + log L.
Log lse(const RowState& state, double sum_radius, const AttentionTerms& terms) {
  const bool exact = state.sum == 1 && sum_radius == 0;  // one key has all the weight: log 1
  const LogBall log =
      exact ? LogBall{0.0, 0.0} : certified_log(state.sum, sum_radius / state.sum * kInflation, terms.log);
  const double value = state.m + log.value;
  const double log_part = value - state.m;
  const double lost = std::fabs((state.m - (value - log_part)) + (log.value - log_part));  // TwoSum
  const double anchor = state.anchored ? state.anchor_error : 0.0;
  return {value, (log.radius + terms.shift * lost + anchor) * kInflation};
}

}  // namespace

void finish_row(const RowState& state, std::int64_t width, const AttentionTerms& terms, double* o, double* radius,
                Ball& lse_ball, RowCause& cause) {
  const double sum_radius = (state.weight_radius + state.sum_rounding) * kInflation;  // R_L'
  const double least = state.sum - (sum_radius + state.star_radius) * kInflation;     // L − R_L
  const bool bounded = !state.failed && least > 0;
  const double infinity = std::numeric_limits<double>::infinity();
  if (!bounded) {
    std::fill(o, o + width, 0.0);
    std::fill(radius, radius + width, infinity);
    lse_ball = {.hi = state.m, .radius = infinity};
    cause = {.score_error = infinity, .scores_dominate = true};
    return;
  }
  // The division loses at most one ulp of what is at least 2^-53 of L: kInflation covers it.
  const double inverse = kInflation / least;
  for (std::int64_t c = 0; c < width; ++c) {
    const double value = state.o[c] / state.sum;
    const double rest = std::fabs(std::fma(-value, state.sum, state.o[c]));
    const double star = state.star_radius * std::fabs(state.star[c] - value);
    const double error = state.radius[c] + std::fabs(value) * sum_radius + star + terms.output * rest;
    const double bound = error * inverse + kUnderflowFloor;
    o[c] = value;
    radius[c] = bound >= 0 ? bound : infinity;  // NaN says nothing
  }
  const Log log = lse(state, sum_radius + state.star_radius, terms);
  lse_ball = {.hi = log.value, .radius = log.radius >= 0 ? log.radius : infinity};
  // What the scores put into the radius beside the rest, over the keys but for the star, which hardly counts.
  const double others = std::max(0.0, state.sum - state.star_weight);
  const double from_exp = terms.exp * kExpError * others;
  const double from_scores = std::max(0.0, state.weight_radius - from_exp);
  cause = {.score_error = state.score_error,
           .scores_dominate = from_scores > from_exp + state.roundings * kRoundoff * state.sum};
}

}  // namespace flashproof::attention64
