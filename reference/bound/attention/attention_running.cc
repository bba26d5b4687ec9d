#include "reference/bound/attention/attention_running.h"

#include <algorithm>
#include <cmath>

#include "reference/bound/costs.h"
#include "reference/bound/row/row_weights.h"
#include "reference/problem/special_values.h"

namespace flashproof::bound {

namespace {

/// Nats below the frame from which a weight is less than 2^-149, so that what its exponent errs by does not matter.
constexpr double kReach = 104;

double joined(double a, double b) {
  const double larger = std::max(a, b);
  return larger == -kInfinity ? larger : larger + std::log1p(std::exp(std::min(a, b) - larger));
}

}  // namespace

// e^{lse^t} = (e^{lse^{t−1}} e^{carried} + Σ e^{ŝ_j} (…)) e^{logarithm}. `drift`: of a computed lse against the scores'.
void RunningLse::follow(const Leaves& leaves, const Visits& visits, int additions) {
  const auto& all = visits.visits();
  steps_.assign(all.size() + 1, {});
  logarithm_.assign(all.size() + 1, 0);
  const double exponential = -std::log1p(-a_.exp_error);
  double lse = -kInfinity, doubt = 0, drift = 0;
  std::size_t last = 0;  // index of a step
  low_ = high_ = -kInfinity;
  if (leaves.key[0] < 0) {
    lse = low_ = high_ = leaves.score[0];
    doubt = leaves.score_error[0];
    low_ -= doubt;
    high_ += doubt;
    steps_[0] = {low_, high_, 0};
  }
  for (std::size_t n = 0; n < all.size(); ++n) {
    const Visit& visit = all[n];
    if (visit.keys == 0) continue;
    const double lse_low = lse - doubt - drift, lse_high = lse + doubt + drift;
    low_ = std::max(visit.low, lse_low);
    high_ = std::max(visit.high, lse_high);
    const double above = lse == -kInfinity ? 0 : std::max(0.0, visit.high - lse_low);
    const double carried = lse == -kInfinity ? 0 : roundings(1) + (above > 0 ? exponential + slope_ * above : 0);
    double largest = -kInfinity;
    for (std::size_t j = visit.begin; j < visit.end; ++j) {
      largest = std::max(largest, leaves.score[j]);
      doubt = std::max(doubt, leaves.score_error[j]);
    }
    const double own = std::log(sum_of_weights(&leaves.score[visit.begin], visit.end - visit.begin, largest));
    lse = joined(lse, largest + own);
    const double added = slope_ * kReach + exponential + roundings(additions + 1) + visit.keys * 0x1p-100;
    drift = std::max(drift + carried, added);
    const double size = std::fabs(lse) + doubt + drift;
    // log L: 1 at most is carried, and each key weighs 1 at most; or by what lse and the frame are.
    const double most = std::min(std::log1p(visit.keys), lse + doubt - low_) + drift;
    logarithm_[n + 1] = logarithm_cost(a_.log_error, a_.log_absolute, most) + roundings(1) * size + kTiny;
    drift = (drift + logarithm_[n + 1]) * kSlack;
    steps_[n + 1] = {.low = low_, .high = high_, .later = carried};
    last = n + 1;
  }
  // The last logarithm belongs to the ending.
  double later = 0;
  for (std::size_t i = last + 1; i-- > 0;) {
    const double carried = steps_[i].later;
    steps_[i].later = (later + (i == last ? 0 : logarithm_[i])) * kSlack;
    later = steps_[i].later + carried;
  }
}

}  // namespace flashproof::bound
