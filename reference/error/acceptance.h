// The values that count as right for a finite truth: [RN(o − B'), RN(o + B')] in the storage format, with the truth's
// radius kept apart, so that "inside" and "outside" are theorems and what lies between is known to be undecided.
#pragma once

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

/// `computed` is a number or ±inf, decoded from the format (an overflow that the format spells NaN: pass ±inf).
Side side(const Acceptance& accepted, double computed);

}  // namespace flashproof
