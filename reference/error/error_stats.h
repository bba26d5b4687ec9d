// Error statistics of one output tensor: a commutative monoid. Chunks, cases, workers and runs merge in any order and
// grouping to the same bits, because sums are exact (ExactSum), maxima keep NaN as the worst, and the witness is the
// maximum of a total order.
#pragma once

#include <array>
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
  double ratio = -1;  // −1: none yet
  std::uint64_t case_index = 0;
  std::uint64_t index = 0;  // element in the flattened tensor
  double computed = 0;
  double exact = 0;
  double error = 0;
  ElementBound bound;

  bool worse_than(const ErrorWitness& other) const;
};

struct ErrorStats {
  std::uint64_t elements = 0;
  std::array<std::uint64_t, kVerdictKinds> verdicts{};  // by VerdictKind
  std::array<std::uint64_t, kFailures> failures{};      // by Failure; [none] counts the elements that did not fail
  std::array<std::uint64_t, 4> classes{};               // of the computed value: finite, +inf, −inf, NaN
  double max_abs = 0;                                   // over finite elements with a finite truth
  double max_ulp = 0;                                   // the same; FLT_MAX against inf is a class mismatch, not 1 ulp
  double max_ratio =
      0;  // |ŷ − o| / bound_with_rounding; +inf where a finite truth met a NaN or inf that was not allowed
  ExactSum sum_abs, sum_square, sum_truth_square;  // over finite elements with a finite truth
  ExactSum sum_signed_over_bound;                  // the same, where the ratio is finite: the bias in units of B
  std::uint64_t finite_elements = 0;               // finite, with a finite truth
  /// log2(error/bound): bin i counts [2^(i−56), 2^(i−55)), the ends are open; 0 in bin 0, inf and NaN in bin 63.
  std::array<std::uint64_t, 64> ratio_octaves{};
  ErrorWitness witness;

  /// `decision` is the judge's on this element. An inf or NaN that it allowed (out of domain, an overflow inside the
  /// bound, a symbolic answer) has no error and no ratio, nor has a number whose truth has radius +inf.
  void add(const Element& element, const Decision& decision, std::uint64_t case_index, std::uint64_t index);
  void merge(const ErrorStats& other);
  double mean_abs() const;
  double rmse() const;
  double normwise() const;  // ‖ŷ − o‖₂ / ‖o‖₂; 0/0 is 0
  double mean_signed_over_bound() const;

  /// Lossless text form, one token without spaces. deserialize takes exactly what serialize writes and throws
  /// UsageError on everything else.
  std::string serialize() const;
  static ErrorStats deserialize(std::string_view text);
};

}  // namespace flashproof
