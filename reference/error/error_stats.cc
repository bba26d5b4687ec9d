#include "reference/error/error_stats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>

namespace flashproof {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_nan(double x) { return class_of(x) == kNaN; }

std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }

auto rest_of(const ErrorWitness& w) {
  return std::tuple(w.case_index, w.index, bits_of(w.computed), bits_of(w.exact), bits_of(w.error),
                    bits_of(w.bound.weights), bits_of(w.bound.numerator), bits_of(w.bound.denominator),
                    bits_of(w.bound.output));
}

/// floor(log2 |x|) of a normal number; less than that of any normal number for 0 and the subnormals.
int exponent_of(double x) { return static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52 & 0x7ff) - 1023; }

/// 2^e for −1074 <= e <= 1023.
double power_of_two(int e) {
  const int field = e + 1023;
  return std::bit_cast<double>(field > 0 ? static_cast<std::uint64_t>(field) << 52 : std::uint64_t{1} << (field + 51));
}

std::size_t octave(double ratio) {
  if (class_of(ratio) != kFinite) return 63;
  return static_cast<std::size_t>(std::clamp(exponent_of(ratio) + 56, 0, 63));
}

std::size_t class_index(double x) {
  switch (class_of(x)) {
    case kFinite:
      return 0;
    case kPosInf:
      return 1;
    case kNegInf:
      return 2;
    default:
      return 3;
  }
}

}  // namespace

double ulp(Format format, double x) {
  const FormatInfo& f = info(format);
  const int exponent = std::clamp(exponent_of(x), f.min_exponent, exponent_of(f.max_finite));
  return power_of_two(exponent - (f.precision - 1));
}

double ulp(Format format, const Ball& truth) {
  const bool below = truth.lo != 0 && truth.hi != 0 && std::signbit(truth.lo) != std::signbit(truth.hi);
  // The double before hi: bits count upwards in magnitude.
  return ulp(format, below ? std::bit_cast<double>(bits_of(truth.hi) - 1) : truth.hi);
}

double bound_with_rounding(Format format, const Ball& truth, const ElementBound& bound) {
  const double b = bound.total();
  return b + unit_roundoff(format) * (std::fabs(truth.hi) + b) + min_subnormal(format) / 2;
}

double worse(double a, double b) {
  if (is_nan(a) || is_nan(b)) return std::numeric_limits<double>::quiet_NaN();
  return a < b ? b : a;
}

bool ErrorWitness::worse_than(const ErrorWitness& other) const {
  if (is_nan(ratio) != is_nan(other.ratio)) return is_nan(ratio);
  if (!is_nan(ratio) && ratio != other.ratio) return ratio > other.ratio;
  return rest_of(*this) < rest_of(other);
}

void ErrorStats::add(const Element& element, const Decision& decision, std::uint64_t case_index, std::uint64_t index) {
  ++elements;
  ++verdicts[static_cast<std::size_t>(decision.kind)];
  ++failures[static_cast<std::size_t>(decision.failure)];
  ++classes[class_index(element.computed)];
  if ((element.truth.classes & kFinite) == 0) return;

  const bool finite = class_of(element.computed) == kFinite;
  const bool allowed = decision.kind != VerdictKind::fail && decision.kind != VerdictKind::inconclusive;
  if (!finite && allowed) return;
  if (finite && class_of(element.truth.radius) != kFinite) return;  // the ball's middle says nothing: no error is known
  double error = kInfinity, ratio = kInfinity;
  if (finite) {
    const double signed_difference = signed_error(element.computed, element.truth);
    const double bound = bound_with_rounding(element.format, element.truth, element.bound);
    error = std::fabs(signed_difference);
    ratio = error == 0 ? (is_nan(bound) ? bound : 0.0) : error / bound;  // x/0 = inf, x/inf = 0, NaN stays
    ++finite_elements;
    max_abs = worse(max_abs, error);
    max_ulp = worse(max_ulp, error / ulp(element.format, element.truth));
    sum_abs.add(error);
    sum_square.add(error * error);
    sum_truth_square.add(element.truth.hi * element.truth.hi);
    if (class_of(ratio) == kFinite) sum_signed_over_bound.add(std::copysign(ratio, signed_difference));
  }
  if (is_nan(ratio)) ratio = std::numeric_limits<double>::quiet_NaN();  // one spelling
  max_ratio = worse(max_ratio, ratio);
  ++ratio_octaves[octave(ratio)];
  if (ratio < witness.ratio) return;
  const ErrorWitness candidate{ratio, case_index, index, element.computed, element.truth.hi, error, element.bound};
  if (witness.ratio == -1 || candidate.worse_than(witness)) witness = candidate;
}

void ErrorStats::merge(const ErrorStats& other) {
  elements += other.elements;
  finite_elements += other.finite_elements;
  for (std::size_t i = 0; i < verdicts.size(); ++i) verdicts[i] += other.verdicts[i];
  for (std::size_t i = 0; i < failures.size(); ++i) failures[i] += other.failures[i];
  for (std::size_t i = 0; i < classes.size(); ++i) classes[i] += other.classes[i];
  for (std::size_t i = 0; i < ratio_octaves.size(); ++i) ratio_octaves[i] += other.ratio_octaves[i];
  max_abs = worse(max_abs, other.max_abs);
  max_ulp = worse(max_ulp, other.max_ulp);
  max_ratio = worse(max_ratio, other.max_ratio);
  sum_abs.merge(other.sum_abs);
  sum_square.merge(other.sum_square);
  sum_truth_square.merge(other.sum_truth_square);
  sum_signed_over_bound.merge(other.sum_signed_over_bound);
  if (other.witness.ratio != -1 && (witness.ratio == -1 || other.witness.worse_than(witness))) witness = other.witness;
}

double ErrorStats::mean_abs() const {
  return finite_elements == 0 ? 0.0 : sum_abs.value() / static_cast<double>(finite_elements);
}

double ErrorStats::rmse() const {
  return finite_elements == 0 ? 0.0 : std::sqrt(sum_square.value() / static_cast<double>(finite_elements));
}

double ErrorStats::normwise() const {
  const double error = sum_square.value();
  return error == 0 ? 0.0 : std::sqrt(error / sum_truth_square.value());
}

double ErrorStats::mean_signed_over_bound() const {
  return finite_elements == 0 ? 0.0 : sum_signed_over_bound.value() / static_cast<double>(finite_elements);
}

}  // namespace flashproof
