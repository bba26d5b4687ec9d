// What the vector code of columns.cc works on: four rows at a time. Entries are weights times 2^100, so that whatever f32
// loses of them is below 2^-225 of the column's largest value.
#pragma once

#include <cstdint>

#include "reference/bound/bound.h"

namespace flashproof::bound {

inline constexpr std::int64_t kPassRows = 4;
inline constexpr double kEntryScale = 0x1p100;
inline constexpr double kFloor = 0x1p-225;  // per key, of the column's scale
/// One chain of FMAs per column runs over so many keys; then it is added to a double.
inline constexpr std::int64_t kChainKeys = 256;
/// Consecutive keys whose numerator units lie below one line.
inline constexpr std::int64_t kLineKeys = 16;
/// The chain's roundings, those of the entries and of |v − o|, and all of second order.
inline constexpr double kChainError = static_cast<double>(kChainKeys + 16) * 0x1p-24;

/// Sums of one row by column, in the column's unit, without the entries' scale: rounded up by the reader.
enum ColumnSum : std::uint8_t {
  kO,
  kSize,
  kNumerator,
  kShifted,
  kLowest,
  kHighest,
  kOwnSquare,
  kNumeratorSquare,
  kColumnSums
};

/// The numerator's weight of key i of a line, 0 <= i < 16: p (base + (16 − i) slope), or numerator[j] where lines are too
/// far above it.
struct PassRow {
  const float* p;  // [groups · 64] each
  const float* q;
  const float* numerator;  // null: lines
  const float* slope;      // [groups · 4] each
  const float* base;
  const float* own_square;        // [groups · 8] each: sums over blocks
  const float* numerator_square;  // null: zeros
  const std::uint8_t* visible;    // [groups · 64]
  const std::uint8_t* full;       // [groups]: all 64 keys are visible
  bool sees_zero;                 // a sink: the values include 0
  double* sums[kColumnSums];      // [padded width] each
};

/// The values of ValueTable.
struct PassValues {
  const float* v;  // from the first group of the pass on
  const float* lowest;
  const float* highest;
  const float* group_lowest;
  const float* group_highest;
  std::int64_t panels, panel_floats, block_floats;  // from panel to panel
  std::int64_t groups;                              // of the pass
};

/// What all columns of a row share on the way from its sums to its bounds.
struct RowConstants {
  double low, w;                                 // lower bounds: Σ p(1 + ω), and Σ ŵ in the units of absolute errors
  double q_sum;                                  // Σ q
  double slop, floor;                            // relative of o, beside f32's; absolute, in the column's unit
  double coarse;                                 // of the numerator part per unit of the largest |v|
  double numerator_extra;                        // of the numerator's sum, likewise: what lines leave out
  double numerator_underflow;                    // divided by w
  double denominator, ending, ending_underflow;  // relative, relative, absolute
  double sink_q, sink_own_square;
  // Chance. Σ c|v − o| and Σ r|v| of weights c and r that are nearly proportional to others: the share of those sums, and
  // what lies above it per unit of the largest |v − o| and |v|.
  double coherent_share, coherent_extra;  // of Σ q|v − o|
  double rest_share, rest_extra;          // of the numerator's sum
  double drift, numerator_square, denominator_square;
  double own_root;           // λ √Σ (p own)²
  double denominator_rest;   // of the denominator, divided by low like the sums
  double denominator_first;  // likewise, but not divided
  double denominator_all;    // max(Ḡ, Ḡ_up)
};

namespace kernels {

/// Fills rows[i].sums, which are 0, for all columns. `count` is at most kPassRows; all rows have lines or none has.
void sum_columns(const PassRow* rows, std::int64_t count, const PassValues& values);
/// From the sums to bounds and ranges. unsettled[c] is set where column_bound() has to decide.
void finish_columns(const PassRow& row, const RowConstants& constants, const double* unscale, std::int64_t width,
                    ElementBound* bounds, double* ranges, std::uint8_t* unsettled);

}  // namespace kernels
}  // namespace flashproof::bound
