// Error statistics of one output tensor: a commutative monoid. Chunks, cases, workers and runs merge in any order and
// grouping to the same bits, because sums are exact (ExactSum), maxima keep NaN as the worst, and the witness is the
// maximum of a total order.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "reference/bound/bound.h"
#include "reference/error/element.h"
#include "reference/error/exact_sum.h"
#include "reference/error/verdict.h"

namespace flashproof {

/// Units in the last place of `format` at the exact value x (finite): the spacing of the binade that x lies in, the
/// subnormal spacing below the normal range, the last binade's beyond the largest finite value. A power of two has the
/// spacing above it.
double ulp(Format format, double x);
/// The same at hi + lo, which may lie just below a power of two hi.
double ulp(Format format, const Ball& truth);

/// What a finite result may differ from the exact value: B' and the rounding of a value no larger than |o| + B' into
/// the format, u·(|o| + B') + half the smallest subnormal. Whatever the judge accepts (and is finite) is within it.
double bound_with_rounding(Format format, const Ball& truth, const ElementBound& bound);

/// The larger; NaN counts as larger than every number.
double worse(double a, double b);

/// The element with the largest error/bound; NaN counts as larger than every number. Ties: the lowest (case, index),
/// then the remaining fields by their bits, so that the order is total.
struct ErrorWitness {
  double ratio = -1;             // −1: none yet
  std::uint64_t case_index = 0;  // whatever the caller tells its cases apart by; a sweep: the seed
  std::uint64_t index = 0;       // element in the flattened tensor
  double computed = 0;
  double exact = 0;
  double error = 0;
  ElementBound bound;

  bool worse_than(const ErrorWitness& other) const;
};

/// What one element adds to the bias statistic (README.md, "Bias"), in its unit: u·ElementBound::size and half the
/// smallest subnormal of o; u·max(1, size) of lse.
struct BiasShare {
  double error = 0;   // signed
  double drift = 0;   // size of the part that need not average out over rows
  double spread = 0;  // largest size of the part that does
};
BiasShare bias_share(const Element& element);

inline constexpr double kUnknownFigure = -2;

/// Octaves of errors in ulp: from 2^-20 (below the radius of any truth worth having) to 2^43 (whole orders of f32 lost).
inline constexpr int kLeastUlpOctave = -20, kMostUlpOctave = 43;

struct ErrorStats {
  std::uint64_t elements = 0;
  std::array<std::uint64_t, kVerdictKinds> verdicts{};  // by VerdictKind
  std::array<std::uint64_t, kFailures> failures{};      // by Failure; [none] counts the elements that did not fail
  std::array<std::uint64_t, 4> classes{};               // of the computed value: finite, +inf, −inf, NaN
  double max_abs = 0;                                   // over finite elements with a finite truth
  double max_ulp = 0;                                   // the same; FLT_MAX against inf is a class mismatch, not 1 ulp
  double max_ratio =
      0;  // |ŷ − o| / bound_with_rounding; +inf where a finite truth met a NaN or inf that was not allowed
  // The two figures of a summary; −1: no such element, kUnknownFigure: of statistics of before. Of the finite elements in their
  // domain:
  double max_budget =
      -1;  // least_bound (acceptance.h) / B': what the arithmetic used of its budget, its last rounding aside
  /// |error| in ulp, where B' < |o|/2: else not even the first digit is promised, and a ulp says nothing.
  double max_resolved_ulp = -1;
  ExactSum sum_abs, sum_square, sum_truth_square;  // over finite elements with a finite truth
  std::uint64_t finite_elements = 0;               // finite, with a finite truth
  /// log2(error/bound): bin i counts [2^(i−56), 2^(i−55)), the ends are open; 0 in bin 0, inf and NaN in bin 63.
  std::array<std::uint64_t, 64> ratio_octaves{};
  /// Of the finite elements with a finite truth, |error| in ulp: [0] counts errors of exactly 0, [i] those with
  /// floor(log2) = i + kLeastUlpOctave − 1; the ends are open.
  std::array<std::uint64_t, 65> ulp_octaves{};
  ErrorWitness witness;

  std::uint64_t investigate = 0;  // elements that Decision::investigate names
  /// Of the elements in their domain that passed or are vacuous and that the probable bound P says something about (it is
  /// below the deterministic one and below range/2), the largest ratio of least_bound (acceptance.h) to P: above 1
  /// exactly for what `investigate` counts, up to the truth's radius.
  ErrorWitness probable_witness;

  // The bias statistic, over the elements that passed: what they erred by in one direction, against what chance allows.
  std::uint64_t bias_elements = 0, bias_rows = 0;
  ExactSum bias_error, bias_drift;  // of BiasShare
  ExactSum bias_square;             // over rows: (Σ spread of the row's elements)²

  /// `decision` is the judge's on this element. An inf or NaN that it allowed (out of domain, an overflow inside the
  /// bound, a symbolic answer) has no error and no ratio, nor has a number whose truth has radius +inf. Returns the
  /// element's BiasShare::spread, 0 if it does not count there: for end_row().
  double add(const Element& element, const Decision& decision, std::uint64_t case_index, std::uint64_t index);
  /// The part of add() that counts: elements, investigate, verdicts, failures, classes, finite_elements. No sum, no maximum,
  /// no witness.
  void count(const Element& element, const Decision& decision);
  /// After the last element of a row: the sum of what add() returned for it. A row that adds up to 0 is none.
  void end_row(double spread);
  void merge(const ErrorStats& other);
  double mean_abs() const;
  double rmse() const;
  double normwise() const;    // ‖ŷ − o‖₂ / ‖o‖₂; 0/0 is 0
  double bias() const;        // mean signed error in the unit of BiasShare; 0 without elements
  double bias_limit() const;  // what |bias()| exceeds with probability below 2 e^{−λ²/2}, λ = kLambda
  bool biased() const { return std::fabs(bias()) > bias_limit(); }

  /// Lossless text form, one token without spaces. deserialize takes exactly what serialize writes and throws
  /// UsageError on everything else.
  std::string serialize() const;
  static ErrorStats deserialize(std::string_view text);

 private:
  void add_summary(const Element& element, double error);
  double add_bias(const Element& element);
};

}  // namespace flashproof
