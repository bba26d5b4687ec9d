// A kernel whose source nobody has seen: the declaration leaves its reduction open, and its bound is the largest, element by
// element, of a short list of declarations (README.md, "Foreign kernels").
#pragma once

#include <vector>

#include "reference/bound/arithmetic.h"
#include "reference/bound/bound.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// What Reduction::any stands for; the declaration itself where it names a reduction. Fields that an alternative has no use
/// for are reset, all others are kept: exp_error, the formats, the units and so on hold for each of them.
///
///   attention  chunk_deferred as declared; the same with fused exponents, if `exponent` is unfused; row_resident of natural
///              scores with scaled_exp2 (a fused or unfused exponent would be another kernel's)
///   merge      flat: shifted, division_free, max_sum; pairwise_fold: stable, running, max_sum
///   softmax    chunked_online as declared; the same with fused exponents, if `exponent` is unfused; two_pass
std::vector<Arithmetic> alternatives(const Arithmetic& arithmetic, ProblemKind problem);

namespace bound {

/// Element by element the bound with the larger total; its domain is where both hold.
void join(const Bound& other, Bound& bound);

}  // namespace bound
}  // namespace flashproof
