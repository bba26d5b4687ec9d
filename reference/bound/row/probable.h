// The bound under chance: roundings that are independent and centred add up as λ √Σ δ², not as Σ δ. README.md,
// "Probable", has the assumptions and what breaks them.
#pragma once

#include "reference/bound/vector/column_sums.h"

namespace flashproof::bound {

/// Weight of |v_j| in what chance cannot lessen of the numerator part: roundings that are neither this key's own nor the
/// accumulator's, drift, and everything of second order.
inline double chance_rest(const RowModel& row, const RowWeights& weights, std::size_t j) {
  const double units = row.leaves.numerator[j];
  const double centred = (1 - row.drift) * units;
  const double own = row.leaves.own_numerator[j];
  const double taken = row.numerator_square > 0 || own > centred ? centred : own;
  const double rest = numerator_weight(row, weights, j) - weights.p[j] * taken;
  return rest > 0 ? rest : 0;
}

/// Weight of |v_j − o| that chance cannot lessen of the weights part.
inline double chance_coherent(const RowModel& row, const RowWeights& weights, std::size_t j) {
  const double own = weights.p[j] * row.leaves.own[j];
  return weights.q[j] > own ? weights.q[j] - own : 0;
}

/// Sets probable, drift and size; the parts are final.
void add_probable(const RowModel& row, const RowWeights& weights, const ColumnSums& sums, ElementBound& bound);
/// The same for lse.
void add_probable_lse(const RowWeights& weights, ElementBound& bound);

}  // namespace flashproof::bound
