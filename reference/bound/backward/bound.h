// A-priori error bound of every element of dq, dk and dv, in four named terms. Derivation: README.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/bound/backward/arithmetic.h"
#include "reference/bound/bound.h"
#include "reference/problem/backward.h"

namespace flashproof {

/// Gradient mode: how far the forward kernel's stored outputs may be from the exact ones, their storage rounding
/// included. Stage: both empty, o and lse are exact there.
struct ForwardErrors {
  std::vector<double> lse;  // query_rows()
  std::vector<double> o;    // query_rows() x dv
};

/// Empty, or why there is no bound of this declaration for this problem, in one line: raw scores with a bias or ALiBi, a
/// subnormal scale that is folded into raw scores or flushed.
std::string backward_refused(const AttentionProblem& forward, const BackwardArithmetic& arithmetic);

/// `problem` must be valid. Throws UsageError with backward_refused()'s text,
/// std::invalid_argument for a declaration or forward errors that no section of README.md covers.
Bound backward_bound(const BackwardProblem& problem, const BackwardArithmetic& arithmetic,
                     const ForwardErrors& forward = {});

}  // namespace flashproof
