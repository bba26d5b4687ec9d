#include "reference/error/acceptance.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "reference/error/element.h"
#include "reference/error/exact_sum.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

/// RN(Σ terms) into the format, one rounding of the exact sum.
///
/// For the narrow formats the sum is first rounded to odd into double. That keeps the side of every boundary of the
/// second rounding: a number of the format, and the midpoint of two neighbours, has at most precision + 1 <= 25
/// significant bits (fewer among the subnormals, whose lowest midpoint 2^-150 is a normal double), so as a double it
/// is even; rounding to odd is monotone and never turns a non-double into an even one. f64 has no room for that and
/// takes the one correct rounding of the sum itself.
double exactly_rounded(Format format, Overflow overflow, const std::array<double, 4>& terms) {
  ExactSum sum;
  for (const double term : terms) sum.add(term);
  const double exact = format == Format::f64 ? sum.value() : sum.value_to_odd();
  const double end = decode(format, encode(format, exact, overflow));
  // e4m3fn spells overflow NaN; the sum itself is never NaN here.
  return class_of(end) == kNaN ? std::copysign(kInfinity, exact) : end;
}

/// The same, quickly where the rounding is not close to a boundary: the plain sum of four terms is off by less than
/// 2^-51 of Σ|term| (three roundings of 2^-53; additions do not underflow inexactly), twice that also covers the two
/// roundings below. If both ends of that interval encode alike, so does all between, because RN is monotone.
double rounded(Format format, Overflow overflow, const std::array<double, 4>& terms) {
  double sum = 0, size = 0;
  for (const double term : terms) {
    sum += term;
    size += std::fabs(term);
  }
  const double slack = size * 0x1p-50;
  const double below = sum - slack, above = sum + slack;
  if (class_of(below) == kFinite && class_of(above) == kFinite) {
    const double end = decode(format, encode(format, below, overflow));
    if (class_of(end) == kFinite && end == decode(format, encode(format, above, overflow))) return end;
  }
  return exactly_rounded(format, overflow, terms);
}

/// Where an unbounded interval ends.
double unbounded(Format format, Overflow overflow) {
  return overflow == Overflow::saturate ? info(format).max_finite : kInfinity;
}

}  // namespace

Acceptance acceptance(Format format, Overflow overflow, const Ball& truth, double bound) {
  const double furthest = unbounded(format, overflow);
  if (bound == kInfinity) return {-furthest, furthest, -furthest, furthest};
  const double hi = truth.hi, lo = truth.lo, r = truth.radius;
  if (class_of(bound) != kFinite || class_of(hi) != kFinite || class_of(lo) != kFinite || class_of(r) != kFinite ||
      bound < 0 || r < 0) {
    return {kInfinity, -kInfinity, -kInfinity, kInfinity};  // nothing is sure: undecided, whatever was computed
  }
  // o' = hi + lo + t with |t| <= r. RN is monotone, so the extremes of t give the extremes of each end.
  return {rounded(format, overflow, {hi, lo, r, -bound}), rounded(format, overflow, {hi, lo, -r, bound}),
          rounded(format, overflow, {hi, lo, -r, -bound}), rounded(format, overflow, {hi, lo, r, bound})};
}

double least_bound(Format format, double computed, const Ball& truth) {
  const double error = signed_error(computed, truth);
  if (error == 0) return 0;
  // Half the distance to the neighbour on the side of o; below a power of two, towards 0, the numbers are denser.
  const double size = std::fabs(computed);
  const double binade =
      std::max(std::bit_cast<double>(std::bit_cast<std::uint64_t>(size) >> 52 << 52), min_normal(format));
  const bool towards_zero = std::signbit(error) == std::signbit(computed);
  const bool denser = towards_zero && size == binade && size > min_normal(format);
  const double half = binade * unit_roundoff(format) * (denser ? 0.5 : 1);
  return std::max(std::fabs(error) - half, 0.0);
}

Side side(const Acceptance& accepted, double computed) {
  if (computed >= accepted.sure_lower && computed <= accepted.sure_upper) return Side::inside;
  if (computed >= accepted.never_below && computed <= accepted.never_above) return Side::undecided;
  return Side::outside;
}

}  // namespace flashproof
