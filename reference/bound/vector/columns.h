// column_bounds() of theorem.h for many rows that see values of one head: the sums over keys in f32 vectors, rounded up,
// with what that loses in the slop of o; every element that f32 does not settle is left to column_bound().
#pragma once

#include <cstdint>
#include <span>

#include "reference/bound/row/theorem.h"
#include "reference/bound/vector/value_table.h"

namespace flashproof::bound {

struct RowToBound {
  const RowModel* row;
  const RowWeights* weights;  // of perturbed_weights(*row)
  ElementBound* bounds;       // [width]
  double* ranges;             // [width]
};

/// Returns the number of refined columns. The leaves' keys are distinct and below values.keys().
std::int64_t column_bounds(std::span<const RowToBound> rows, const ValueTable& values, const EndingModel& ending);

}  // namespace flashproof::bound
