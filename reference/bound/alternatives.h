// A kernel whose source is not known: the declaration leaves its reduction open, and its bound is the largest, element by
// element, of a short list of declarations (README.md, "Foreign kernels").
#pragma once

#include <optional>
#include <vector>

#include "reference/bound/bound.h"
#include "reference/bound/declare/arithmetic.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// What Reduction::any stands for; the declaration itself where it names a reduction. Fields that an alternative has no use
/// for are reset, all others are kept: exp_error, the formats, the units and so on hold for each of them.
///
///   attention  chunk_deferred as declared, the same with fused exponents and of natural scores from a scaled query;
///              row_resident of these with scaled_exp2 (a fused or unfused exponent would be another kernel's);
///              where a unit is declared, all again with one fma chain, which loses more to flushed products than a unit
///   merge      flat: shifted, division_free, max_sum; pairwise_fold: stable, running, max_sum
///   softmax    chunked_online as declared; the same with fused exponents, if `exponent` is unfused; two_pass
std::vector<Arithmetic> alternatives(const Arithmetic& arithmetic, ProblemKind problem);
/// In the same order, as they are for this problem; none where an alternative has no meaning: of states (m, l, O) all but
/// max_sum. Of joins pairwise_tree in place of the fold; where raw scores have no meaning (a scale of 0 or below), natural ones in
/// their place. So an index names one kernel, whatever the problem.
std::vector<std::optional<Arithmetic>> alternatives_in_place(const Arithmetic& arithmetic, const Problem& problem);
/// Those of them that have a meaning.
std::vector<Arithmetic> alternatives(const Arithmetic& arithmetic, const Problem& problem);

namespace bound {

/// Element by element the bound with the larger total; its domain is where both hold.
void join(const Bound& other, Bound& bound);

}  // namespace bound
}  // namespace flashproof
