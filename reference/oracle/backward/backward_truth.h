// Truth of a backward problem: dq, dk and dv as value and radius, never a bare number. Every row first in doubles with a
// derived radius; a row whose radius is too wide is computed again from exact scores in intervals of doubling precision.
// Derivation: README.md.
#pragma once

#include <cstdint>

#include "reference/oracle/oracle.h"
#include "reference/oracle/truth.h"
#include "reference/problem/backward.h"

namespace flashproof {

struct BackwardTruth {
  Balls dq;                       // query_rows() x d
  Balls dk;                       // key_rows() x d
  Balls dv;                       // key_rows() x dv
  std::int64_t exact_rows = 0;    // rows that went to the exact tier
  int max_bits = 0;               // its highest precision; 0: never asked
  std::int64_t inconclusive = 0;  // elements still wider than asked for at kMaxBits; the radius holds all the same
};

/// Every element narrow_enough() for `format`. Throws UsageError if the problem is not valid or needs more memory than
/// options.memory_limit; InfrastructureError if the thread does not compute IEEE doubles. options.threads is not used.
BackwardTruth backward_truth(const BackwardProblem& problem, Format format, OracleOptions options = {});

}  // namespace flashproof
