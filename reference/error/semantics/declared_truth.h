// The truth, and how far off a result may be, as a kernel with other semantics than the reference's has to return it. Such a kernel
// is judged in its own terms: the truth is translated, never the output.
//
//   rows without a key     the class that is declared; mean: truth and bound of the same values under equal scores
//   rows that see NaN, inf the class that is declared of lse
//   lse_base 2             lse log2(e): truth and bound times log2(e), and what the conversion rounds: base_2_rounding()
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reference/error/semantics/declared_terms.h"
#include "reference/error/trivial.h"
#include "reference/oracle/truth.h"

namespace flashproof {

/// What an lse to base 2 may err by beyond log2(e) times the bound of the natural one, its last rounding left out: octaves.
/// `lse`: that bound, nats; `frame`: Bound::frame of the row. Derivation: reference/bound/attention/README.md, section 6.
double base_2_rounding(const ElementBound& lse, double frame);

class DeclaredTruth {
 public:
  /// `exact`: of the problem, which must be valid, forward and as_declared().
  DeclaredTruth(const Problem& problem, const Semantics& semantics, const Truth& exact);

  const Truth& truth() const { return truth_; }
  /// A row of the oracle's next tier.
  RowBalls translated(RowBalls balls, std::int64_t row) const;
  TrivialGaps translated(TrivialGaps gaps) const;
  /// The problem of the same values under equal scores; null where no row is the mean of its values.
  const Problem* equal_scores() const { return equal_ ? &*equal_ : nullptr; }
  /// The bound of a declared arithmetic; `of_equal`: the same of equal_scores(), null without one.
  Bound translated(Bound bound, const Bound* of_equal) const;

 private:
  bool is_mean(std::int64_t row) const;
  Ball lse_of(std::int64_t row, const Ball& exact) const;
  Ball o_of(std::int64_t row, std::int64_t column, const Ball& exact) const;

  Semantics semantics_;
  std::vector<RowKind> kinds_;
  std::vector<std::int32_t> visible_;  // of softmax rows: the columns before row_length; else empty
  std::optional<Problem> equal_;
  Truth mean_;  // of equal_
  Truth truth_;
};

}  // namespace flashproof
