// Truth of a backward problem: dq, dk and dv as value and radius, never a bare number. Every row first in doubles with a
// derived radius; a row whose radius is too wide is computed again from exact scores in intervals of doubling precision.
// Derivation: README.md.
#pragma once

#include "reference/oracle/oracle.h"
#include "reference/oracle/truth.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// Every element narrow_enough() for `format`. Throws UsageError if the problem is not valid or needs more memory than
/// options.memory_limit; InfrastructureError if the thread does not compute IEEE doubles. options.threads is not used.
Truth backward_truth(const BackwardProblem& problem, Format format, OracleOptions options = {});
/// Throws UsageError if that would need more memory than the limit.
void require_backward_memory(const BackwardProblem& problem, std::int64_t limit);

/// Of any problem: narrow_truth(), or backward_truth().
Truth narrow_truth_of(const Problem& problem, Format format, OracleOptions options = {});

}  // namespace flashproof
