// Test helper: one step of a matrix unit by the published algorithm (block_fma.h), evaluated in rationals. Finite numbers.
#pragma once

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <vector>

#include "reference/model/block_fma.h"

namespace flashproof {

using Rational = boost::multiprecision::cpp_rational;
using Integer = boost::multiprecision::cpp_int;

inline Rational power(int exponent) {
  const Integer two = Integer(1) << std::abs(exponent);
  return exponent >= 0 ? Rational(two) : Rational(Integer(1), two);
}
inline Rational cut_at(const Rational& x, int exponent) {  // toward zero, to a multiple of 2^exponent
  const Rational scaled = x / power(exponent);
  return Rational(Integer(numerator(scaled) / denominator(scaled))) * power(exponent);
}
/// ⌊log2 |x|⌋ by trial.
inline int exponent_of(const Rational& x) {
  const Rational size = abs(x);
  int e = static_cast<int>(msb(numerator(size))) - static_cast<int>(msb(denominator(size)));
  while (size < power(e)) --e;
  while (size >= power(e + 1)) ++e;
  return e;
}
/// As the formats have it: a subnormal keeps the least exponent.
inline int stored_exponent(const Rational& x, int least) { return std::max(exponent_of(x), least); }

inline double published(const BlockFma& unit, BlockInputs inputs, float c, const std::vector<float>& a,
                        const std::vector<float>& b) {
  std::vector<Rational> addend = {Rational(c)};
  std::vector<int> exponent = {c == 0 ? -1000 : stored_exponent(Rational(c), -126)};
  for (std::size_t k = 0; k < a.size(); ++k) {
    addend.push_back(Rational(a[k]) * Rational(b[k]));
    exponent.push_back(addend.back() == 0 ? -1000
                                          : stored_exponent(Rational(a[k]), info(inputs.a).min_exponent) +
                                                stored_exponent(Rational(b[k]), info(inputs.b).min_exponent));
  }
  const int largest = std::max(-133, *std::max_element(exponent.begin(), exponent.end()));
  Rational sum = 0;
  for (const Rational& x : addend) sum += cut_at(x, largest - unit.f);
  if (sum == 0) return 0;
  const Rational result = cut_at(sum, stored_exponent(sum, -126) - unit.ofb);
  if (abs(result) >= power(128)) return result > 0 ? HUGE_VAL : -HUGE_VAL;
  return result.convert_to<double>();
}

}  // namespace flashproof
