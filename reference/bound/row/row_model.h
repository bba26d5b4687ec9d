// One row of any problem as the theorem of README.md sees it: leaves (the visible keys, the states, a sink) with their
// exact scores, and for each what happens to it on the way to the root. The files *_paths.cc fill this in; theorem.h
// makes the four parts of it.
//
// "Log units": the sum of |ln(1 + δ)| over roundings, so that e^x − 1 bounds their joint relative error.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "reference/bound/declare/arithmetic.h"

namespace flashproof::bound {

inline constexpr double kU = 0x1p-24;  // unit roundoff of f32
inline constexpr double kF32Max = 0x1.fffffep127;

/// Inflates what is evaluated in double here: more than the rounding of any of its sums, for up to 2^20 leaves.
inline constexpr double kSlack = 1 + 0x1p-30;

/// n roundings of f32 in log units, rounded up: >= −n ln(1 − u).
inline double roundings(double n) { return n * (kU + kU * kU); }
/// e^x − 1, rounded up: the joint relative error of `x` log units. Most are small, and an exponential for every key of a row
/// is what its bound would take longest with: up to 2^-8 the series to x^6, whose rest is below x^7/7! (1 + x) < 2^-60 of it.
inline double growth(double x) {
  if (x > 720) return std::numeric_limits<double>::infinity();  // the library's way to say so is slow
  if (!(x >= 0 && x <= 0x1p-8)) return std::expm1(x) * kSlack;
  const double y = x * (1.0 / 2 + x * (1.0 / 6 + x * (1.0 / 24 + x * (1.0 / 120 + x * (1.0 / 720)))));
  return (x + x * y) * kSlack;
}
/// An absolute error once `units` of relative ones have followed it: they multiply it with the rest.
inline double rounded_later(double lost, double units) { return lost == 0 ? 0 : lost * (1 + growth(units)) * kSlack; }
/// p (e^x − 1) for p = e^{log_p}, x >= 0; by exponents where x is large, so that a vanishing weight stays vanishing.
double scaled_expm1(double log_p, double x);
/// ⌈log2 n⌉, n >= 1.
int log2_ceil(int n);

/// Arrays over the leaves of a row, all of one length. Reused from row to row: resize() keeps the memory.
struct Leaves {
  std::vector<std::int64_t> key;       // index of the key or state; −1: the sink
  std::vector<double> score;           // s_j, a double next to the exact value
  std::vector<double> score_error;     // D_j: |computed score − s_j|, the error of `score` itself included
  std::vector<double> exponent;        // log units: H_j without score errors; seen alike by both sums
  std::vector<double> numerator;       // log units: R_j, of the numerator only
  std::vector<double> denominator;     // log units: G_j, of the denominator only
  std::vector<double> lost;            // Z_j: absolute error of the weight in both sums, the maximum's weight being 1
  std::vector<double> lost_numerator;  // the same of the weight that multiplies v_j, beyond `lost`

  // For the chance model (README.md, "Probable"): how much of the above is this key's alone, independent of the others'.
  std::vector<double> own;            // log units, of score_error + exponent
  std::vector<double> own_numerator;  // log units, of numerator: the rounding of P

  /// All zero but for the keys and scores, which are left as they are.
  void resize(std::size_t n);
  std::size_t size() const { return score.size(); }
};

/// Where the computed maximum may lie, and whose score it is.
struct Frame {
  std::ptrdiff_t pivot = -1;  // the leaf that certainly is the computed maximum and carries the weight; −1: none
  double max = 0;             // m = max s_j
  double error = 0;           // |m̂ − m|
  double pivot_error = 0;     // D of the pivot: then every other score is measured from it

  /// |error of s_j − (the frame)|: D_j, D_j + D_pivot, 0 of the pivot itself.
  double score_error(const Leaves& leaves, std::size_t j) const {
    return static_cast<std::ptrdiff_t>(j) == pivot ? 0 : leaves.score_error[j] + pivot_error;
  }
  /// Upper bound of m̂ − ŝ_j.
  double path(const Leaves& leaves, std::size_t j) const {
    return max - leaves.score[j] + leaves.score_error[j] + error;
  }
};
Frame frame_of(const Leaves& leaves);

/// Absolute errors (`lost`, `lost_numerator`, the underflows) are in the units of the kernel's final frame f: the weight
/// of key j is e^{s_j − f}. Where f is the computed maximum, as it is without `lead` and `lag`, the largest is exactly 1.
struct RowModel {
  Leaves leaves;
  Frame frame;                // of the leaves
  double common = 0;          // |κ|, log units: error of the frame that all weights share; lse alone sees it
  double lead = 0;            // log units: how far f may lie above the computed maximum (a stale frame)
  double lag = 0;             // log units: how far it may lie below it (a lazy frame): weights up to e^lag
  double largest_error = 0;   // log units: by which the largest weight may be below 1; of merges, which have no lead
  double above = 0;           // log units: by which a weight may exceed 1, or e^lag, at most
  bool largest_leads = true;  // the maximum's weight loses nothing, and no other exceeds it by what it loses
  double numerator_underflow = 0;    // absolute, of the un-normalised Σ w v
  double denominator_underflow = 0;  // absolute, of the un-normalised Σ w
  // For the chance model (probable.h): Σ δ² over the roundings of the accumulator and of the denominator that many keys
  // share (0: none is taken as random), and the share of `numerator`, 0..1, that always has the same sign (truncation).
  double numerator_square = 0;
  double denominator_square = 0;
  double drift = 0;
};

/// Of fl(fl(a − b) · fl(log2 e)) against (a − b) log2 e, relative: proofs/scaled_exponent.gappa.
inline constexpr double kScaledExponentSlope = 0x1.1d0000b8011cfp-23;

/// Error of the exponents of one path per unit of m̂ − ŝ_j, for Exponent::accurate and scaled_exp2.
inline double exponent_slope(const Arithmetic& arithmetic) {
  return arithmetic.exponent == Exponent::accurate ? kU : kScaledExponentSlope;
}

/// ln 2^-126 with the sign turned: a weight, and every factor on its way, that certainly stays above has no subnormal
/// part.
inline constexpr double kLogMinNormal = 87.336544;
/// The same, for what may be subnormal.
inline constexpr double kLogMinNormalBelow = 87.3365;

/// The perturbed weights of one row: Σ over the leaves of p_j (1 + ω_j) with |p_j ω_j| <= q_j, README.md section 2.
struct RowWeights {
  std::vector<double> p;      // exact weights e^{s_j − m} / L, evaluated in double
  std::vector<double> q;      // bound on the absolute error of each, in the same units
  std::vector<double> least;  // lower bound of p_j (1 + ω_j); empty: p_j − q_j
  std::vector<double> slop;   // bound on the error of evaluating p itself
  double low = 1;             // lower bound of Σ p_j (1 + ω_j)
  double up = 1;              // upper bound of it
  double sum = 1;             // W: lower bound of Σ ŵ_j in the units of the absolute errors
  double lse = 0;             // m + ln L
  double lse_weights = 0;     // bound of |ln Σ p_j (1 + ω_j)|, the frame's own score error included
  double log_sum = 0;         // upper bound of |ln of the computed denominator|
  double denominator = 0;  // Ḡ: by what share the denominator may be too small beyond its weights; +inf if not below 1
  double denominator_up = 0;                                           // by what share it may be too large
  double longest_numerator = std::numeric_limits<double>::infinity();  // max R_j, log units
  double slop_ratio = std::numeric_limits<double>::infinity();         // max slop_j / p_j

  // For the chance model.
  double frame = 0;                                           // the part of lse_weights that is the frame's
  double own_square = 0;                                      // Σ (p own)²
  double coherent = std::numeric_limits<double>::infinity();  // Σ q − p own
  double denominator_square = 0;                              // RowModel's
  double denominator_rest = 0;                                // Σ (p + q) (e^G − 1) − p G
  double denominator_absolute = 0;                            // the underflow's share of `denominator`
  std::vector<std::int64_t> scratch;

  /// Of leaf j, and 0 where nothing is known.
  double least_of(std::size_t j) const {
    const double bound = least.empty() ? p[j] - q[j] : least[j];
    return bound > 0 ? bound : 0;
  }
  /// Upper bound of Σ ŵ_j x_j / Σ ŵ_j for x_j >= 0: Σ (p_j + q_j) x_j / low, or max x_j where that is smaller.
  template <class X>
  double average(X&& x) const;
};

RowWeights perturbed_weights(const RowModel& row);
/// The same into memory that is reused from row to row.
void perturbed_weights(const RowModel& row, RowWeights& weights);

template <class X>
double RowWeights::average(X&& x) const {
  double sum = 0;
  double largest = 0;
  for (std::size_t j = 0; j < p.size(); ++j) {
    const double value = x(j);
    sum += value == 0 ? 0 : (p[j] + q[j]) * value;
    largest = value > largest ? value : largest;
  }
  const double closed = sum / low * kSlack;
  return closed < largest ? closed : largest;
}

}  // namespace flashproof::bound
