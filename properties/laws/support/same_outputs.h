// Whether two runs on the same numbers returned the same.
//
// A forward kernel that does not declare itself deterministic is not asked. A backward one is (dq is commonly added up by
// atomics, in whatever order): each of two runs lies within the a-priori bound of the one exact gradient, so they differ by
// at most twice that bound, and by the rounding of each.
#pragma once

#include <string>
#include <string_view>

#include "properties/laws/trial.h"

namespace flashproof {

/// Why runs of this kernel cannot be compared; "" if they can.
std::string not_comparable(const Trial& trial);

/// "" if they are the same: bits where the kernel declares itself deterministic, every NaN counting as the same; else one
/// line on the first element that differs, or the one furthest outside. The gradients are those of the trial's problem,
/// whatever its layout.
std::string difference(Trial& trial, const Output& a, const Output& b);

inline bool on_cpu(const Trial& trial) { return trial.options().executor == Executor::cpu && !trial.kernel().foreign; }

/// No row of any output.
inline bool no_rows(const Problem& problem) {
  const auto* gradient = std::get_if<BackwardProblem>(&problem);
  return output_shape(problem).rows == 0 && (gradient == nullptr || gradient->key_rows() == 0);
}

inline Verdict unsupported(std::string why) { return {VerdictKind::unsupported, Failure::none, std::move(why)}; }

}  // namespace flashproof
