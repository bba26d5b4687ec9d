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

/// ElementBound's terms read: weights, the recomputed P (score errors, exponent, exponential, Λ); numerator, products,
/// sums and the storage of P and dS; denominator, D_i; output, the ending without the last rounding into the storage
/// format. probable = total(): no chance model is derived for the backward pass. Elements that special values decide
/// have bounds of 0. A bound may be +inf.
struct BackwardBound {
  std::vector<ElementBound> dq;         // query_rows() x d
  std::vector<ElementBound> dk;         // key_rows() x d
  std::vector<ElementBound> dv;         // key_rows() x dv
  std::vector<RowDomain> query_domain;  // of dq
  std::vector<RowDomain> key_domain;    // of dk and dv
};

/// Empty, or why there is no bound of this declaration for this problem, in one line: raw scores with a bias or ALiBi, a
/// subnormal scale that is folded into raw scores or flushed.
std::string backward_refused(const AttentionProblem& forward, const BackwardArithmetic& arithmetic);

/// `problem` must be valid. Throws UsageError with backward_refused()'s text,
/// std::invalid_argument for a declaration or forward errors that no section of README.md covers.
BackwardBound backward_bound(const BackwardProblem& problem, const BackwardArithmetic& arithmetic,
                             const ForwardErrors& forward = {});

}  // namespace flashproof
