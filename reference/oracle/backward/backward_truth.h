// Truth of a backward problem: dq, dk and dv as value and radius, never a bare number. Every row first in doubles with a
// derived radius; a row whose radius is too wide is computed again from exact scores in intervals of doubling precision.
// Derivation: README.md.
#pragma once

#include "reference/oracle/oracle.h"
#include "reference/oracle/truth.h"
#include "reference/problem/backward.h"

namespace flashproof {

/// Every element narrow_enough() for `format`. Throws UsageError if the problem is not valid or needs more memory than
/// options.memory_limit; InfrastructureError if the thread does not compute IEEE doubles. options.threads is not used.
Truth backward_truth(const BackwardProblem& problem, Format format, OracleOptions options = {});

}  // namespace flashproof
