// log with a radius, without a proven log: any y near log(sum) is certified afterwards by the proven exp. Works on the
// host and on the device; the libm that supplies y decides the value, never the validity of the radius.
#pragma once

#include <cmath>

#include "reference/oracle/fp64/vector/proven_exp.h"

namespace flashproof {

/// |log S - value| <= radius for every real S that the arguments allow. An infinite radius says "not certified".
struct LogBall {
  double value, radius;
};

/// The parts of the radius; a test drops one (0) to see that it is missed.
struct LogTerms {
  double residual = 1, exp = 1, sum = 1;
};

/// log of every S with |S - sum| <= sum_relative_radius·sum, for sum in [2^-1000, 2^1000], around the given y; outside
/// that range, and for a relative radius that is not in [0, 1), the radius is infinite. y is not trusted: one that is off
/// by more than 2^-20 gives an infinite radius, and any smaller error is inside the radius.
///
/// Derivation. Let t = log(sum) - y. The computed E = proven_exp(-y) = e^-y·(1 + ε), |ε| <= kExpError (|y| <= 694 is
/// inside its range), so sum·E = e^t·(1 + ε). With d = sum·E - 1,
///     t = log(1 + d) - log(1 + ε).
/// The FMA gives residual = d·(1 + δ), |δ| <= 2^-53; nothing underflows, because sum·E - 1 is a multiple of
/// ulp(sum)·ulp(E) >= 2^-108. |log(1 + d)| <= |d|/(1 - |d|), and the same for ε. With |residual| <= 2^-20 this gives
///     |log(sum) - y| <= (|residual| + kExpError)·(1 + 2^-18).                                     [residual and exp]
/// S = sum·(1 + θ), |θ| <= ρ < 1:  |log S - log(sum)| = |log(1 + θ)| <= -log(1 - ρ) <= ρ/(1 - ρ).  [sum]
/// The radius itself is computed from numbers that are not negative (1 - ρ too has a relative error of 2^-53 only): some
/// roundings of 2^-53 each, which the last factor 1 + 2^-30 holds.
FLASHPROOF_HOST_DEVICE inline LogBall certify_log(double y, double sum, double sum_relative_radius,
                                                  const LogTerms& terms = LogTerms()) {
  if (!(sum >= 0x1p-1000 && sum <= 0x1p1000)) return {y, HUGE_VAL};
  if (!(sum_relative_radius >= 0 && sum_relative_radius < 1)) return {y, HUGE_VAL};
  if (!(y >= -694 && y <= 694)) return {y, HUGE_VAL};
  const double residual = std::fabs(rounded_fma(sum, proven_exp(-y), -1.0));
  if (!(residual <= 0x1p-20)) return {y, HUGE_VAL};
  const double from_log = (terms.residual * residual + terms.exp * kExpError) * (1 + 0x1p-18);
  const double from_sum = sum_relative_radius / (1 - sum_relative_radius);
  return {y, (from_log + terms.sum * from_sum) * (1 + 0x1p-30)};
}

/// The same with y from the libm at hand.
FLASHPROOF_HOST_DEVICE inline LogBall certified_log(double sum, double sum_relative_radius,
                                                    const LogTerms& terms = LogTerms()) {
  return certify_log(std::log(sum), sum, sum_relative_radius, terms);
}

}  // namespace flashproof
