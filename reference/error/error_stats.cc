#include "reference/error/error_stats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>

#include "reference/error/acceptance.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

bool is_nan(double x) { return class_of(x) == kNaN; }

std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }

auto rest_of(const ErrorWitness& w) {
  return std::tuple(w.case_index, w.index, bits_of(w.computed), bits_of(w.exact), bits_of(w.error),
                    bits_of(w.bound.weights), bits_of(w.bound.numerator), bits_of(w.bound.denominator),
                    bits_of(w.bound.output), bits_of(w.bound.probable), bits_of(w.bound.drift), bits_of(w.bound.size));
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

std::size_t ulp_octave(double error, double ulps) {
  if (error == 0) return 0;
  return static_cast<std::size_t>(std::clamp(exponent_of(ulps), kLeastUlpOctave, kMostUlpOctave) - kLeastUlpOctave + 1);
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

namespace {

/// Ties keep the one that was there unless the order of witnesses says otherwise.
void take_worse(ErrorWitness& witness, const ErrorWitness& candidate) {
  if (candidate.ratio == -1) return;
  if (witness.ratio == -1 || candidate.worse_than(witness)) witness = candidate;
}

/// What is not known of a part is not known of the whole.
double worse_figure(double a, double b) {
  return a == kUnknownFigure || b == kUnknownFigure ? kUnknownFigure : worse(a, b);
}

}  // namespace

BiasShare bias_share(const Element& e) {
  const ElementBound& b = e.bound;
  const double step = unit_roundoff(e.format);
  const double total = b.total(), probable = probable_bound(b);
  const double unit = e.part == Part::o ? step * b.size + min_subnormal(e.format) / 2 : step * std::max(b.size, 1.0);
  const double drift = probable < total ? b.drift : total;
  const double rounding = step * (std::fabs(e.truth.hi) + probable) + min_subnormal(e.format) / 2;
  const double chance = std::max(probable - drift, 0.0);
  return {signed_error(e.computed, e.truth) / unit, drift / unit, (chance + rounding) / unit};
}

void ErrorStats::count(const Element& element, const Decision& decision) {
  ++elements;
  investigate += decision.investigate ? 1 : 0;
  ++verdicts[static_cast<std::size_t>(decision.kind)];
  ++failures[static_cast<std::size_t>(decision.failure)];
  ++classes[class_index(element.computed)];
  const bool known = (element.truth.classes & kFinite) != 0 && class_of(element.truth.radius) == kFinite;
  finite_elements += known && class_of(element.computed) == kFinite ? 1 : 0;
}

double ErrorStats::add(const Element& element, const Decision& decision, std::uint64_t case_index,
                       std::uint64_t index) {
  count(element, decision);
  if ((element.truth.classes & kFinite) == 0) return 0;

  const bool finite = class_of(element.computed) == kFinite;
  const bool allowed = decision.kind != VerdictKind::fail && decision.kind != VerdictKind::inconclusive;
  if (!finite && allowed) return 0;
  // The middle of an infinite ball says nothing: no error is known.
  if (finite && class_of(element.truth.radius) != kFinite) return 0;
  double error = kInfinity, ratio = kInfinity;
  if (finite) {
    const double signed_difference = signed_error(element.computed, element.truth);
    const double bound = bound_with_rounding(element.format, element.truth, element.bound);
    error = std::fabs(signed_difference);
    ratio = error == 0 ? (is_nan(bound) ? bound : 0.0) : error / bound;  // x/0 = inf, x/inf = 0, NaN stays
    max_abs = worse(max_abs, error);
    const double ulps = error / ulp(element.format, element.truth);
    max_ulp = worse(max_ulp, ulps);
    ++ulp_octaves[ulp_octave(error, ulps)];
    sum_abs.add(error);
    sum_square.add(error * error);
    sum_truth_square.add(element.truth.hi * element.truth.hi);
  }
  if (is_nan(ratio)) ratio = std::numeric_limits<double>::quiet_NaN();  // one spelling
  max_ratio = worse(max_ratio, ratio);
  ++ratio_octaves[octave(ratio)];
  if (!(ratio < witness.ratio)) {
    take_worse(witness, {ratio, case_index, index, element.computed, element.truth.hi, error, element.bound});
  }
  if (!finite || decision.kind == VerdictKind::out_of_domain) return 0;
  add_summary(element, error);
  if (!allowed) return 0;
  const double probable = probable_bound(element.bound);
  if (probable < element.bound.total() && probable < element.range / 2) {
    const double least = least_bound(element.format, element.computed, element.truth);
    take_worse(probable_witness,
               {least / probable, case_index, index, element.computed, element.truth.hi, error, element.bound});
  }
  return decision.kind == VerdictKind::pass ? add_bias(element) : 0;
}

void ErrorStats::add_summary(const Element& element, double error) {
  const double total = element.bound.total();
  const double least = least_bound(element.format, element.computed, element.truth);
  double used = least == 0 ? 0.0 : least / total;  // x/0 = inf, x/inf = 0
  if (is_nan(used)) used = std::numeric_limits<double>::quiet_NaN();
  max_budget = worse(max_budget, used);
  if (total < std::fabs(element.truth.hi) / 2) {
    max_resolved_ulp = worse(max_resolved_ulp, error / ulp(element.format, element.truth));
  }
}

double ErrorStats::add_bias(const Element& element) {
  if (element.part != Part::o && element.part != Part::lse) return 0;  // without a chance model the bound is the limit
  const BiasShare share = bias_share(element);
  if (class_of(share.error) != kFinite || class_of(share.drift) != kFinite || class_of(share.spread) != kFinite)
    return 0;
  ++bias_elements;
  bias_error.add(share.error);
  bias_drift.add(share.drift);
  return share.spread;
}

void ErrorStats::end_row(double spread) {
  if (spread == 0) return;
  ++bias_rows;
  const double most = 0x1p500;  // far beyond use; its square is finite
  bias_square.add(std::min(spread, most) * std::min(spread, most));
}

void ErrorStats::merge(const ErrorStats& other) {
  elements += other.elements;
  finite_elements += other.finite_elements;
  for (std::size_t i = 0; i < verdicts.size(); ++i) verdicts[i] += other.verdicts[i];
  for (std::size_t i = 0; i < failures.size(); ++i) failures[i] += other.failures[i];
  for (std::size_t i = 0; i < classes.size(); ++i) classes[i] += other.classes[i];
  for (std::size_t i = 0; i < ratio_octaves.size(); ++i) ratio_octaves[i] += other.ratio_octaves[i];
  for (std::size_t i = 0; i < ulp_octaves.size(); ++i) ulp_octaves[i] += other.ulp_octaves[i];
  max_abs = worse(max_abs, other.max_abs);
  max_ulp = worse(max_ulp, other.max_ulp);
  max_ratio = worse(max_ratio, other.max_ratio);
  max_budget = worse_figure(max_budget, other.max_budget);
  max_resolved_ulp = worse_figure(max_resolved_ulp, other.max_resolved_ulp);
  sum_abs.merge(other.sum_abs);
  sum_square.merge(other.sum_square);
  sum_truth_square.merge(other.sum_truth_square);
  take_worse(witness, other.witness);
  investigate += other.investigate;
  take_worse(probable_witness, other.probable_witness);
  bias_elements += other.bias_elements;
  bias_rows += other.bias_rows;
  bias_error.merge(other.bias_error);
  bias_drift.merge(other.bias_drift);
  bias_square.merge(other.bias_square);
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

double ErrorStats::bias() const {
  return bias_elements == 0 ? 0.0 : bias_error.value() / static_cast<double>(bias_elements);
}

double ErrorStats::bias_limit() const {
  if (bias_elements == 0) return 0;
  // Inflated by more than the double evaluation of the shares: some 20 roundings.
  return (bias_drift.value() + kLambda * std::sqrt(bias_square.value())) / static_cast<double>(bias_elements) *
         (1 + 0x1p-40);
}

}  // namespace flashproof
