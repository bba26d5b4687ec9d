// For tests: every row of a problem from the exact tier alone.
#pragma once

#include "reference/oracle/tiers.h"

namespace flashproof::test {

/// At one precision. The problem is valid.
inline Truth all_rows(const Problem& problem, int bits = 128) {
  const OutputShape shape = output_shape(problem);
  Truth truth = Truth::sized(shape.rows, shape.width);
  const auto tier = exact_tier(problem);
  for (std::int64_t row = 0; row < shape.rows; ++row) truth.set_row(row, tier->row(row, Tier::exact, bits));
  return truth;
}

}  // namespace flashproof::test
