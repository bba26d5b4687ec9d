// The loops of the double-double tier, compiled for AVX2 and AVX-512. Every lane is a key of its own (dots, scores,
// weights) or a column of its own (values), and nothing is ever added across lanes: the bits do not depend on the width.
// u = 2^-53; which rounding each number bounds: README.md.
#pragma once

#include <cmath>
#include <cstdint>

#include "reference/oracle/double_double/aligned_doubles.h"
#include "reference/oracle/double_double/dd.h"
#include "reference/oracle/double_double/double_double_tier.h"

namespace flashproof {

inline constexpr double kU = 0x1p-53;
inline constexpr std::int64_t kBlock = 8;  // keys or columns side by side in memory

constexpr std::int64_t round_up_to_block(std::int64_t n) { return (n + kBlock - 1) / kBlock * kBlock; }

/// Multiplying a DD by it rounds nothing: 0, or a power of two.
inline bool exact_factor(double x) {
  int exponent = 0;
  const double significand = std::fabs(std::frexp(x, &exponent));
  return significand == 0.5 || significand == 0.0;
}

/// Can this CPU run the kernels (AVX2 and FMA)?
bool has_dd_kernels();

/// The keys of one row, by position; the number of positions is a multiple of kBlock. First the scores (hi + lo with
/// absolute error `error`; hi = −inf: no weight), then in their place the weights.
struct RowNumbers {
  AlignedDoubles hi, lo;
  AlignedDoubles error;   // of the score; then rho: of the weight
  AlignedDoubles spread;  // what multiplies |v| in the error of Σ w v: rho and the roundings relative to w|v|

  std::int64_t size() const { return static_cast<std::int64_t>(hi.size()); }
  /// All hidden.
  void reset(std::int64_t positions);
  void hide(std::int64_t position);
};

/// hi + lo = Σ_c query[c]·keys[c], unevaluated; largest = the largest |lo| there was. keys: blocks of depth x kBlock.
void dot_keys(const double* keys, std::int64_t blocks, const double* query, std::int64_t depth, double* hi, double* lo,
              double* largest);

/// scale·dot + bias − slope·|beside − j|, for the keys j = first + position.
struct ScoreRule {
  double scale = 1, scale_low = 0;  // a DD; scale_low = 0 unless there are descale factors
  const double* bias = nullptr;     // by position, finite; null = none
  double slope = 0;                 // 0 = none
  std::int64_t beside = 0, first = 0;
  std::int64_t depth = 1;               // of the dots
  double query_quantum = 1;             // 2^t with every component of the query a multiple of it
  const double* key_quantum = nullptr;  // the same, by position
};
/// In: the dots, `error` = largest. Out: scores and their errors.
void score_keys(const ScoreRule& rule, const DdTerms& terms, RowNumbers& row);

/// Below e^kSkip a weight is taken for 0; its radius says that it is not.
inline constexpr double kSkip = -560;
/// dd_scores: proven_exp(hi), times 1 + lo, rounded once more; lo² / 2 <= 2^-88 is in the radius' inflation.
inline constexpr double kWeightError = 3 * kU;

/// Scores to weights e^(score − m). `shift` is an error that all exponents share.
void weigh_dd(DD m, double shift, const DdTerms& terms, RowNumbers& row);
/// The same in doubles; `roundings` is h_N of add_values_fp64.
void weigh_fp64(DD m, double shift, double roundings, const DdTerms& terms, RowNumbers& row);

/// Σ w v per column, unevaluated hi + lo; slack = Σ |lo|, spread = Σ spread·|v|.
struct ColumnSums {
  AlignedDoubles hi, lo, slack, spread;
  void reset(std::int64_t columns);
};
/// Adds `count` keys from position `from` on. values: groups of kBlock columns, each `capacity` keys x kBlock.
void add_values_dd(const RowNumbers& row, std::int64_t from, std::int64_t count, const double* values,
                   std::int64_t capacity, ColumnSums& sums);
/// In doubles: runs of `run` keys are summed on their own first.
void add_values_fp64(const RowNumbers& row, std::int64_t from, std::int64_t count, std::int64_t run,
                     const double* values, std::int64_t capacity, ColumnSums& sums);

}  // namespace flashproof
