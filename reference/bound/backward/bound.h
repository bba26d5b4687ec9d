// A-priori error bound of every element of dq, dk and dv, in four named terms. Derivation: README.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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

/// Of inputs and an o of these formats. Throws std::invalid_argument naming the first field that contradicts the others or has no bound.
void require_declaration(const BackwardArithmetic& arithmetic, Format q, Format o);

/// Empty, or why there is no bound of this declaration for this problem, in one line: raw scores with a bias or ALiBi.
std::string backward_refused(const AttentionProblem& forward, const BackwardArithmetic& arithmetic);

/// `problem` must be valid. Throws UsageError with backward_refused()'s text,
/// std::invalid_argument for a declaration or forward errors that no section of README.md covers.
Bound backward_bound(const BackwardProblem& problem, const BackwardArithmetic& arithmetic,
                     const ForwardErrors& forward = {});

/// Of a declaration that is one of these, it is not known which; at least one. Empty if one of them has a bound, else why the last has
/// none.
std::string backward_refused(const AttentionProblem& forward, std::span<const BackwardArithmetic> one_of);
/// Of each by itself, in their order; nullopt: it has no bound for this problem. Throws as backward_bound() of one, and if there is no
/// bound at all.
std::vector<std::optional<Bound>> backward_bounds(const BackwardProblem& problem,
                                                  std::span<const BackwardArithmetic> one_of,
                                                  const ForwardErrors& forward = {});
/// Element by element the largest of those that there are, at least one; a row leaves the domain where it leaves one of theirs.
Bound widest(std::vector<std::optional<Bound>> bounds);
/// widest() of backward_bounds().
Bound backward_bound(const BackwardProblem& problem, std::span<const BackwardArithmetic> one_of,
                     const ForwardErrors& forward = {});

}  // namespace flashproof
