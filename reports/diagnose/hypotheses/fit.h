// Whether a hypothesis explains an output: every row is acceptable as it stands, or wholly acceptable under the counterfactual
// truth and a bound of its own, and every element that fails becomes a decided pass.
#pragma once

#include <cstdint>
#include <vector>

#include "reports/diagnose/hypotheses/hypothesis.h"
#include "reports/diagnose/observation.h"

namespace flashproof {

struct RowOfPart {
  Part part;  // o stands for o and lse
  std::int64_t row;
};

struct Fit {
  bool explains = false;       // false, too, where nothing fails
  std::uint64_t elements = 0;  // failing ones, explained
  // How much less likely by chance: of each row that is explained, log2 of how many widths of the bound its furthest number was
  // away from the truth, at most 10. NaN and infinities count nothing.
  double bits = 0;
  // Of the elements those that are wrong by a number, not by a class or a zero: signed errors in units of the hypothesis's own
  // bound, away from 0 positive; of the probable one where there is one: what many roundings come to, and not what they may at worst.
  std::vector<double> fills;
  std::vector<RowOfPart> explained,
      refuted;  // refuted: rows that are right, and would not be if the hypothesis held there
};

/// `hypothesis` must be about the kernel's kind of problem. Of an observation that does not fail: whether it holds there, too.
Fit fit(const Hypothesis& hypothesis, const Observation& observation);

/// Whether one factor for each output (lse: one summand) is all that is wrong: with it every number is within the declared bound.
/// A rounding does not do that, but to a single row: false where only one fails.
bool is_scaled(const Observation& observation);

/// Of a softmax, whether every failing row is off by a factor of its own, the same for all of its columns: then its sum is wrong, and
/// not its weights one by one. False where no failing row has kColumnsOfFactor numbers. (Of attention a row in which one key counts is
/// off by one factor, whatever is wrong.)
bool rows_are_scaled(const Observation& observation);
inline constexpr std::size_t kColumnsOfFactor = 8;

}  // namespace flashproof
