// A-priori error bound per output element, from the case and the kernel's declared arithmetic, split into the four
// named parts of reference/bound/README.md. Evaluated in double on non-negative numbers and inflated by more than its
// own rounding, so every figure is an upper bound.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "reference/bound/declare/arithmetic.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// |computed − exact| <= weights + numerator + denominator + output, before the rounding into the storage format.
/// Each part carries its own absolute underflow. Any part may be +inf (then the element is vacuous).
///
/// `probable` is what the error exceeds with probability below 2 e^{−λ²/2}, λ = kLambda, if the roundings behave as
/// independent and centred (README.md, "Probable"); at most total(). An error between the two is no proof of a bug: it
/// is listed, with the assumption most likely broken.
struct ElementBound {
  double weights = 0;      // perturbed weights, seen alike by numerator and denominator
  double numerator = 0;    // roundings of the weighted sum only
  double denominator = 0;  // roundings of the sum of weights only
  double output = 0;       // the ending, without the last rounding into the storage format
  double probable = 0;     // <= total()
  double drift = 0;  // the part of `probable` that has a known sign: truncation accumulates, it does not average out
  double size = 0;   // Σ p|v| of o, |lse| of lse: the unit of the bias statistic is u times this
  double total() const { return weights + numerator + denominator + output; }
};

inline constexpr double kLambda = 7;  // 2 e^{−λ²/2} = 4.6e-11

/// A precondition of the bound (README.md, "Domain"): value < limit. The name is a literal.
struct Precondition {
  const char* name = "";
  double value = 0;
  double limit = std::numeric_limits<double>::infinity();
  /// False of a precondition of an un-stabilised form alone (e^x of a raw score, of a difference of either sign): another
  /// form has a result there, so an inf, a NaN or a wrong number is the kernel's failure.
  bool excuses = true;

  bool holds() const { return value < limit; }
  /// 1 where it begins to fail. A value that is no number counts as failed.
  double load() const { return holds() ? value / limit : std::isnan(value / limit) ? 1 : value / limit; }
};

/// Of a row: the precondition that fails by most, or the one nearest to failing, among those that excuse; `form` among the
/// others, which leave the row in the domain.
struct RowDomain {
  Precondition nearest;
  Precondition form{.excuses = false};

  bool holds() const { return nearest.holds(); }
  void require(const Precondition& precondition) {
    Precondition& kept = precondition.excuses ? nearest : form;
    if (precondition.load() > kept.load()) kept = precondition;
  }
};

/// Of the parts of a problem; the others have no elements.
struct Bound {
  std::int64_t rows = 0;          // of o and lse
  std::int64_t width = 0;         // of o
  std::vector<ElementBound> o;    // rows x width
  std::vector<ElementBound> lse;  // rows
  std::vector<double>
      range;  // rows x width: spread of the values the output lies between; o is vacuous if total >= range/2
  std::vector<RowDomain> domain;  // rows: lse and every column
  std::vector<double> frame;      // rows, nats: |m̂| − |λ| of lse = m̂ + ln l̂, at most, beside the error of lse
  std::vector<std::uint8_t>
      accumulator_outside;   // rows x width: 1 where the sums of this column may leave the f32 range
  std::int64_t refined = 0;  // elements whose closed form was vacuous, so that the linear-fractional form was solved

  // Of a gradient, in the rows and widths of Truth. ElementBound's terms read: weights, the recomputed P (score errors,
  // exponent, exponential, Λ); numerator, products, sums and the storage of P and dS; denominator, D_i; output, the
  // ending without the last rounding into the storage format. probable = total(): no chance model is derived for it.
  // Elements that special values decide have bounds of 0. A bound may be +inf.
  std::vector<ElementBound> dq, dk, dv;
  std::vector<RowDomain> query_domain;  // rows of dq
  std::vector<RowDomain> key_domain;    // rows of dk and dv

  const std::vector<ElementBound>& operator[](Part part) const {
    static constexpr std::vector<ElementBound> Bound::* kParts[kPartCount] = {&Bound::o, &Bound::lse, &Bound::dq,
                                                                              &Bound::dk, &Bound::dv};
    return this->*kParts[static_cast<std::size_t>(part)];
  }
  /// Rows of one part.
  const std::vector<RowDomain>& domains(Part part) const {
    return part == Part::dq ? query_domain : part == Part::dk || part == Part::dv ? key_domain : domain;
  }

  /// Of one element of o: its row's, or its own accumulator's.
  const RowDomain& domain_of(std::size_t o_index) const {
    return domain_of(o_index / static_cast<std::size_t>(width), o_index);
  }
  /// The same where the row is known.
  const RowDomain& domain_of(std::size_t row_index, std::size_t o_index) const {
    static const RowDomain kAccumulator{{"un-normalised sums below the f32 range", 1, 1}};
    const RowDomain& row = domain[row_index];
    return row.holds() && accumulator_outside[o_index] != 0 ? kAccumulator : row;
  }
};

/// Throws std::invalid_argument for a declaration that contradicts itself or that no section of the derivations covers, naming
/// the field and what is legal.
void require_declaration(ProblemKind problem, const Arithmetic& arithmetic);

/// `problem` must be valid. Throws UsageError for a problem that the declaration has no meaning for, naming the argument and
/// what is legal, and std::invalid_argument as require_declaration(). Reduction::any: element by element the largest of its
/// alternatives (alternatives.h). Rows whose answer is symbolic (NaN, inf, empty) get zero bounds: the class decides there.
Bound compute_bound(const Problem& problem, const Arithmetic& arithmetic);
/// By each of several declarations that name their reductions, as compute_bound() of it: what they have in common is done once.
std::vector<Bound> compute_bounds(const Problem& problem, std::span<const Arithmetic> arithmetics);

/// Every precondition of one row, 0 <= row < output_shape(problem).rows, those of all its columns joined; where the answer
/// is symbolic those of its scores, or none. Throws as compute_bound().
std::vector<Precondition> preconditions(const Problem& problem, const Arithmetic& arithmetic, std::int64_t row);

}  // namespace flashproof
