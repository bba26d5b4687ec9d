// A-priori error bound per output element, from the case and the kernel's declared arithmetic, split into the four
// named parts of reference/bound/README.md. Evaluated in double on non-negative numbers and inflated by more than its
// own rounding, so every figure is an upper bound.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/bound/arithmetic.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// |computed − exact| <= weights + numerator + denominator + output, before the rounding into the storage format.
/// Each part carries its own absolute underflow. Any part may be +inf (then the element is vacuous).
struct ElementBound {
  double weights = 0;      // perturbed weights, seen alike by numerator and denominator
  double numerator = 0;    // roundings of the weighted sum only
  double denominator = 0;  // roundings of the sum of weights only
  double output = 0;       // the ending, without the last rounding into the storage format
  double total() const { return weights + numerator + denominator + output; }
};

/// Preconditions of semantics (README.md, section 7): failed names the first that does not hold, empty = in domain.
struct RowDomain {
  std::string failed;
  bool holds() const { return failed.empty(); }
};

struct Bound {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  std::vector<ElementBound> o;    // rows x width
  std::vector<ElementBound> lse;  // rows
  std::vector<double>
      range;  // rows x width: spread of the values the output lies between; o is vacuous if total >= range/2
  std::vector<RowDomain> domain;  // rows: lse and every column
  std::vector<std::uint8_t>
      accumulator_outside;  // rows x width: 1 where the sums of this column may leave the f32 range

  /// Of one element of o: its row's, or its own accumulator's.
  const RowDomain& domain_of(std::size_t o_index) const {
    return domain_of(o_index / static_cast<std::size_t>(width), o_index);
  }
  /// The same where the row is known.
  const RowDomain& domain_of(std::size_t row_index, std::size_t o_index) const {
    static const RowDomain kAccumulator{"un-normalised sums below the f32 range"};
    const RowDomain& row = domain[row_index];
    return row.holds() && accumulator_outside[o_index] != 0 ? kAccumulator : row;
  }
};

/// `problem` must be valid. Throws UsageError, naming it, for a feature of attention that the theorems do not cover: of
/// problems.h's Feature they know the window alone. Rows whose answer is symbolic (NaN, inf, empty) get zero bounds: the class decides there.
Bound compute_bound(const Problem& problem, const Arithmetic& arithmetic);

}  // namespace flashproof
