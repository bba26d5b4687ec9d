// The theorem of README.md applied to one row: from its model and the values to the four parts per column.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/bound/bound.h"
#include "reference/bound/row_model.h"

namespace flashproof::bound {

/// Column of a weighted sum Σ p_j v_j. `values` has one finite v per leaf. `ending`: rounded operations after the
/// quotient of sums, without the one into the storage format. `range` receives the spread that makes it vacuous.
ElementBound column_bound(const RowModel& row, const RowWeights& weights, const std::vector<double>& values, int ending,
                          double& range);

/// The same for all columns of a row. Leaf j has the values values[key[j]·width ... + width); the sink (key −1) zeros.
/// `values` may hold NaN or inf: those columns keep bounds of 0 and a range of +inf, the class decides there.
void column_bounds(const RowModel& row, const RowWeights& weights, const double* values, std::int64_t width, int ending,
                   ElementBound* bounds, double* ranges);

/// lse = m + ln l, without the last rounding. `log_error` is relative to |ln l|.
ElementBound lse_bound(const RowWeights& weights, double log_error);

/// Ḡ/(1 − Ḡ) of what has been bounded so far.
double denominator_error(const RowWeights& weights, double magnitude);

/// (1 + u)^n − 1 of what has been bounded so far, plus n subnormal roundings.
double ending_error(int count, double magnitude);

/// Spread of the values; where they are all the same that one's magnitude, and +inf for zeros: nothing is vacuous
/// there.
double vacuity_range(double lowest, double highest);

}  // namespace flashproof::bound
