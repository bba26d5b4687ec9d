// The theorem of README.md applied to one row: from its model and the values to the four parts per column.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/bound/bound.h"
#include "reference/bound/row/row_model.h"

namespace flashproof::bound {

/// What happens to the quotient of sums before the rounding into the storage format: rounded operations, as log units of
/// relative error, and what they lose below the normal range.
struct EndingModel {
  double log_units = 0;
  double underflow = 0;  // absolute

  EndingModel() = default;
  EndingModel(double units, double lost) : log_units(units), underflow(lost) {}
  /// So many f32 roundings of products or quotients. Implicit: most endings are a count.
  EndingModel(int count)
      : log_units(roundings(count)), underflow(count * 0x1p-150) {}  // NOLINT(google-explicit-constructor)
};

/// Column of a weighted sum Σ p_j v_j. `values` has one finite v per leaf. `range` receives the spread that makes it
/// vacuous. Where the closed form is vacuous the linear-fractional one is solved and *refined, if given, set to true.
ElementBound column_bound(const RowModel& row, const RowWeights& weights, const std::vector<double>& values,
                          const EndingModel& ending, double& range, bool* refined = nullptr);

/// The same for all columns of a row. Leaf j has the values values[key[j]·width ... + width); the sink (key −1) zeros.
/// `values` may hold NaN or inf: those columns keep bounds of 0 and a range of +inf, the class decides there. Returns the
/// number of refined columns.
std::int64_t column_bounds(const RowModel& row, const RowWeights& weights, const double* values, std::int64_t width,
                           const EndingModel& ending, ElementBound* bounds, double* ranges);

/// lse = f + ln l̂, without the last rounding. The logarithm errs by `log_error` |ln l̂| + `log_absolute`.
ElementBound lse_bound(const RowWeights& weights, double log_error, double log_absolute = 0);

/// Error that the denominator's own roundings make of what has been bounded so far.
double denominator_error(const RowWeights& weights, double magnitude);

/// The same for the ending.
double ending_error(const EndingModel& ending, double magnitude);

/// Error of an output e^{x − lse^} in place of a quotient, whose weights are computed afresh, so that nothing of lse's
/// error cancels: e^Δ − 1 of what has been bounded so far. `lse_error` is the whole of lse's, its last rounding included.
double division_free_error(double lse_error, double magnitude);

/// The ending N̂ e^{f − lse^} with lse^ = fl(f + ln l̂) of the *same* l̂: the sum's and the frame's errors cancel as in a
/// quotient, and what is left is the logarithm, the rounding of lse^ (`lse_size` bounds |lse^|), the argument, the
/// exponential and a product.
EndingModel division_free_ending(const RowWeights& weights, const Arithmetic& arithmetic, double lse_size);

/// Spread of the values; where they are all the same that one's magnitude, and +inf for zeros: nothing is vacuous
/// there.
double vacuity_range(double lowest, double highest);

}  // namespace flashproof::bound
