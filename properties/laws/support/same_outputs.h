// Whether two runs on the same numbers returned the same.
//
// Of a kernel that does not declare itself deterministic (dq is commonly added up by atomics, in whatever order) each of two
// runs lies within the a-priori bound of the one exact result, so they differ by at most twice that bound, and by the
// rounding of each. Laws about determinism itself ask a forward kernel of this kind nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "properties/laws/trial.h"

namespace flashproof {

/// Why a law about determinism asks this kernel nothing; "" if it asks.
std::string not_comparable(const Trial& trial);

/// "" if they are the same: bits where the kernel declares itself deterministic, every NaN counting as the same; else one
/// line on the first element that differs, or the one furthest outside. Both are of the trial's problem, whatever its layout.
/// `rows`: of o and lse, 0 for a row that is not compared; empty for all.
std::string difference(Trial& trial, const Output& a, const Output& b, std::span<const std::uint8_t> rows = {});

inline bool on_cpu(const Trial& trial) { return trial.options().executor == Executor::cpu && !trial.kernel().foreign; }

/// No row of any output.
inline bool no_rows(const Problem& problem) {
  const auto* gradient = std::get_if<BackwardProblem>(&problem);
  return output_shape(problem).rows == 0 && (gradient == nullptr || gradient->key_rows() == 0);
}

inline Verdict unsupported(std::string why) { return {VerdictKind::unsupported, Failure::none, std::move(why)}; }

}  // namespace flashproof
