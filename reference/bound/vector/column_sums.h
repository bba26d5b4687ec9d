// What the bound of one column needs to know of its values: sums over the keys. column_bound() evaluates them in double,
// columns.cc in f32; the formulas that follow are the same (theorem.cc, probable.cc).
#pragma once

#include <cmath>

#include "reference/bound/bound.h"
#include "reference/bound/row/theorem.h"

namespace flashproof::bound {

/// The non-negative ones are upper bounds. p, q, R', ...: README.md.
struct ColumnSums {
  double o = 0;       // Σ p v
  double o_slop = 0;  // |o − exact|
  double size = 0;    // Σ p|v|
  double lowest = 0;  // of the values
  double highest = 0;
  double shifted = 0;    // Σ q|v − o|
  double numerator = 0;  // Σ (p + q) R'|v|
  double lost = 0;       // Σ z|v|
  // For the chance model.
  double coherent = 0;              // Σ (q − p own)|v − o|
  double own_square = 0;            // Σ (p own |v − o|)²
  double numerator_rest = 0;        // Σ chance_rest(j)|v|
  double numerator_own_square = 0;  // Σ (p own_numerator |v|)²

  double magnitude() const;  // of o, at most
  double farthest() const;   // max |v − o|, at most
};

/// (p + q) R': the weight of |v_j| in the numerator part.
inline double numerator_weight(const RowModel& row, const RowWeights& weights, std::size_t j) {
  const double units = row.leaves.numerator[j];
  const double weight = weights.p[j] + weights.q[j];
  if (units == 0) return 0;
  return weight > 0 ? weight * growth(units) : std::exp(units - 745);  // 0 stands for less than e^−745
}

/// In double. `values` has one finite v per leaf.
ColumnSums column_sums(const RowModel& row, const RowWeights& weights, const std::vector<double>& values);
/// The four parts by the closed form.
ElementBound closed_form(const RowModel& row, const RowWeights& weights, const ColumnSums& sums,
                         const EndingModel& ending);
/// The parts that follow from the first two.
void finish_parts(const RowWeights& weights, const ColumnSums& sums, const EndingModel& ending, ElementBound& bound);

/// True for what the caller counts as vacuous, and then solves by boxes.
inline bool is_vacuous(const ElementBound& bound, double range) { return !(bound.total() < range / 2); }

}  // namespace flashproof::bound
