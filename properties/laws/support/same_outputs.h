// Whether two runs on the same numbers returned the same.
//
// Of a kernel that does not declare itself deterministic (dq is commonly added up by atomics, in whatever order) each of two
// runs lies within the a-priori bound of the one exact result, so they differ by at most twice that bound, and by the
// rounding of each. A law that only other bits could show asks a forward kernel of this kind nothing. Where no element of such a pair of
// runs can be compared, as where every row is outside the domain, nothing was asked: vacuous, and no pass.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "properties/laws/support/compare.h"
#include "properties/laws/trial.h"

namespace flashproof {

/// Why a law about determinism asks this kernel nothing; "" if it asks.
std::string not_comparable(const Trial& trial);

/// pass if they are the same: bits, every NaN counting as the same, or, where the kernel does not declare itself deterministic,
/// numbers within both bounds; vacuous if the bits differ and nothing can be compared; else fail, with one line on the first
/// element that differs, or the one furthest outside. Both are of the trial's problem, whatever its layout.
/// `rows`: of o and lse, 0 for a row that is not compared; empty for all.
Verdict same_outputs(Trial& trial, const Output& a, const Output& b, std::span<const std::uint8_t> rows = {});

/// An output and the problem that it is of.
struct Answer {
  const Problem& problem;
  const Output& output;
};
/// The same of two forward problems where row r of `a` has the exact answer of row from[r] of `b` (`from` empty: of row r).
Verdict same_answers(Trial& trial, const Answer& a, const Answer& b, std::span<const std::int64_t> from = {});

/// One element with one exact answer in both, within both bounds.
void compare_answers(Comparison& tally, const Reading& computed, const Reading& expected, Part part, std::int64_t row,
                     std::int64_t column, std::int64_t expected_row);
/// Rows of which this contract declares an answer; empty for all. Not where anything will do for o that is NaN, nor beside hidden NaN
/// that the kernel does not promise to leave alone: there only rows of ordinary numbers.
std::vector<std::uint8_t> rows_with_an_answer(const Contract& contract, const Problem& problem);

inline bool on_cpu(const Trial& trial) { return trial.options().executor == Executor::cpu && !trial.kernel().foreign; }

/// No row of any output.
inline bool no_rows(const Problem& problem) {
  const auto* gradient = std::get_if<BackwardProblem>(&problem);
  return output_shape(problem).rows == 0 && (gradient == nullptr || gradient->key_rows() == 0);
}

}  // namespace flashproof
