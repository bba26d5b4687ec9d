// Between a kernel's terms and the reference's, where the kernel declares other semantics (semantics.h): the problem that the reference
// solves for it, the problem that it is handed, and what it returned as the reference would say it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/bound/bound.h"
#include "reference/error/semantics/semantics.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// What the semantics tell apart. empty: no key with a weight and no sink. infinite: a visible score is +inf, none is NaN.
enum class RowKind : std::uint8_t { numbers, empty, infinite, nan };
/// Of every output row of a forward problem, which must be valid.
std::vector<RowKind> row_kinds(const Problem& problem);

/// log2(e) as the sum of two doubles, good to 2^-106.
inline constexpr double kLog2E = 0x1.71547652b82fep0, kLog2ETail = 0x1.777d0ffda0d24p-56;

/// The problem that the reference solves where a kernel with these semantics is given this one: causal and window aligned as declared;
/// of a merge that takes a state of +inf for an empty one, −inf in its place.
Problem as_declared(Problem problem, const Semantics& semantics);
/// Whether as_declared() is another problem than this one.
bool is_declared_otherwise(const Problem& problem, const Semantics& semantics);
/// The problem as the kernel gets it: the states' lse to base 2, and every other empty state as +inf where that is declared to be
/// the same. Nothing: as it is.
std::optional<Problem> handed_over(const Problem& problem, const Semantics& semantics);
/// Why there is no such problem; empty: there is.
std::string not_handed_over(const Problem& problem, const Semantics& semantics);
/// Adds to the bound of a merge what the rounding of the states' lse in handed_over() may do to lse and o.
void add_state_rounding(const Problem& problem, const Semantics& semantics, Bound& bound);

/// What lse has to be in rows of this kind, not numbers; nothing where that is not judged.
std::optional<double> special_lse(const Semantics& semantics, RowKind kind);
/// What a kernel returned, with the reference's class in each row without numbers that has what is declared, and what is declared in one
/// that has the reference's: it is not right either way. lse stays in its base.
Output in_reference_terms(const Problem& problem, const Semantics& semantics, Output output);
/// Part::o or Part::lse of the rounded truth (rounded_truth.h), as a kernel with these semantics returns it; a mean of values, which
/// nobody asks for, is left 0.
Tensor rounded_truth(const Problem& problem, Part part, const Semantics& semantics);

}  // namespace flashproof
