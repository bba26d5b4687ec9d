#include "reference/oracle/fp64/state_sums.h"

#include <algorithm>
#include <cmath>

#include "reference/oracle/environment_guard.h"

namespace flashproof::rows64 {
namespace {

struct Sum {
  double value, rest;
};

/// TwoSum: a + b exactly.
Sum two_sum(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}

/// Per state a product, its rest and a radius may lose 2^-1075 each to subnormals; 2^31 states.
constexpr double kLost = 0x1p-1040;

}  // namespace

void count_states(const StateWeights& states, const MergeTerms& terms, RowSums& row) {
  double high = 0, low = 0, rounded = 0, of_weights = 0;
  for (const std::int64_t s : states.visible) {
    const double product = states.l[s] * states.w[s];
    const Sum sum = two_sum(high, product);
    high = sum.value;
    const double partial = low + sum.rest;
    low = partial + std::fma(states.l[s], states.w[s], -product);
    rounded += std::fabs(partial) + std::fabs(low);
    of_weights += states.l[s] * states.rho[s];
  }
  const Sum total = two_sum(high, low);
  const auto n = static_cast<double>(states.visible.size());
  const double lost = n > 1 ? kLost : 0.0;  // one state has weight 1
  row.total = total.value;
  row.total_radius =
      (of_weights + terms.counts * (std::fabs(total.rest) + kUnit * rounded) + lost) * kSlack * (1 + 4 * n * kUnit);
}

void share_states(const StateWeights& states, const RowSums& row, const MergeTerms& terms) {
  const double inflated = 1 / (row.total - row.total_radius) * kSlack;
  for (const std::int64_t s : states.visible) {
    const double weight = states.w[s], rho = states.rho[s], l = states.l[s];
    const double share = weight / row.total;
    const double quotient = std::fabs(std::fma(-share, row.total, weight)) * terms.weights.quotient;
    const double own = rho * std::fabs(std::fma(-share, l, 1.0));
    const double others = share * std::max(0.0, row.total_radius - l * rho);
    const double least = states.visible.size() > 1 ? kTiny * std::max(1.0, inflated) : 0.0;
    states.w[s] = share;
    states.rho[s] = (own + others + quotient) * inflated + least;
  }
}

}  // namespace flashproof::rows64
