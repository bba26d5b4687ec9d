// Finite numbers at the edges of a format: edge exponents times significand patterns. Uniform draws never come near the
// ends of a range, RapidCheck's own generator makes no subnormal, and random significands are never all ones.
#pragma once

#include "properties/generators/numbers.h"

namespace flashproof {

/// Positive, a number of the format: the smallest and largest subnormal, numbers around the smallest normal, where products
/// with 1 lose a bit, around 1, around the precision (where an integer stops having neighbours), and near the largest; no
/// exponent above `most`.
inline double edge_magnitude(Random& random, Format format, int most) {
  const FormatInfo& f = info(format);
  const int largest = std::min(exponent_of(f.max_finite), most);
  const int least = f.min_exponent - f.precision + 1;
  const int exponents[] = {
      least, least + 1, f.min_exponent - 1, f.min_exponent, f.min_exponent + 1, -f.precision, 1 - f.precision, -1,
      0,     1,         f.precision - 1,    f.precision,    largest - 1,        largest};
  const int exponent = std::clamp(pick(random, exponents), least, largest);
  // As an integer of `precision` bits: 1, the next, all ones, one below, a half more, alternating bits, anything.
  const std::int64_t one = std::int64_t{1} << (f.precision - 1);
  const std::int64_t anything = random.integer(0, one - 1);
  constexpr std::int64_t kAlternating = 0x555555555555555;
  const std::int64_t fractions[] = {0,
                                    1,
                                    one - 1,
                                    one - 2,
                                    one / 2,
                                    one / 2 + 1,
                                    one / 2 - 1,
                                    anything,
                                    kAlternating & (one - 1),
                                    2 * kAlternating & (one - 1)};
  const std::int64_t fraction = std::clamp<std::int64_t>(pick(random, fractions), 0, one - 1);
  const double value = static_cast<double>(one + fraction) * pow2(exponent - f.precision + 1);
  // e4m3fn has a NaN above its largest number where others have a last significand.
  return std::max(round_to(format, std::min(value, f.max_finite)), min_subnormal(format));
}

/// Of either sign, and now and then 0 or -0.
inline double edge_float(Random& random, Format format, int most) {
  const double sign = random_sign(random);
  const bool zero = random.chance(0.05);
  const double size = edge_magnitude(random, format, most);
  return sign * (zero ? 0.0 : size);
}

}  // namespace flashproof
