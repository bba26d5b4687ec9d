// The values that count as right for a finite truth: [RN(o − B'), RN(o + B')] in the storage format, with the truth's
// radius kept apart, so that "inside" and "outside" are theorems and what lies between is known to be undecided.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "reference/oracle/truth.h"
#include "reference/problem/formats.h"

namespace flashproof {

enum class Side : std::uint8_t { inside, outside, undecided };

/// Ends as doubles; ±inf is an end that rounded beyond the largest finite value of the format and was not saturated.
struct Acceptance {
  double sure_lower, sure_upper;    // RN(o' − B'), RN(o' + B') whatever o' in the ball: certainly inside between them
  double never_below, never_above;  // certainly outside beyond these
};

/// bound = B' >= 0, +inf allowed.
Acceptance acceptance(Format format, Overflow overflow, const Ball& truth, double bound);

/// True only if side() would say inside; false says nothing. A few operations, for the many elements that are clearly
/// right. `computed` as below; finite, or the answer is false.
inline bool surely_inside(Format format, double computed, const Ball& truth, double bound) {
  constexpr std::uint64_t kExponent = std::uint64_t{0x7ff} << 52;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(computed);
  if ((bits & kExponent) == kExponent || !(bound >= 0) || !(truth.radius >= 0)) return false;
  // h: half the distance from y = computed to its nearer neighbour in the format (half of it again at a power of two,
  // whose lower binade is denser). A number less than h away from y rounds to y, or not beyond y from the other side.
  const double binade = std::bit_cast<double>(bits & kExponent);  // 2^e <= |y|, or 0
  const double lowest = min_normal(format);
  const double step = unit_roundoff(format);
  const double whole = std::max(binade, lowest) * step;
  const double h = (bits << 12) == 0 && binade > lowest ? whole / 2 : whole;
  // distance >= |y − o| up to three roundings: (1 + 2^-51). If |y − o| < B' + h for every o in the ball, then
  // o − B' < y + h and o + B' > y − h, so RN(o − B') <= y <= RN(o + B'), RN being monotone. The factor 1 + 2^-49 pays
  // for those roundings, its own and that of B' + h (2^-53 each); among the subnormals all of them are exact. A NaN
  // makes the comparison false.
  const double distance = std::fabs(computed - truth.hi) + std::fabs(truth.lo) + truth.radius;
  return distance * (1 + 0x1p-49) < bound + h;
}

/// The least B' whose interval [RN(o − B'), RN(o + B')] holds `computed`, o = hi + lo; off by a few units of 2^-53 of
/// itself. So it is 0 for the correctly rounded value, whatever the format, and `computed` is acceptable for B' iff it
/// is no more than B'. Both finite.
double least_bound(Format format, double computed, const Ball& truth);

/// `computed` is a number or ±inf, decoded from the format (an overflow that the format spells NaN: pass ±inf).
Side side(const Acceptance& accepted, double computed);

}  // namespace flashproof
