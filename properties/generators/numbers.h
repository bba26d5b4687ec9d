// Small exact helpers for the generators. Integers and + − × ÷ only (no libm), so that every machine makes the same
// bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "reference/problem/formats.h"
#include "reference/problem/random.h"

namespace flashproof {

/// 2^e for -1022 <= e <= 1023.
constexpr double pow2(int e) { return std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52); }

/// floor(log2 |x|) for a normal double; -1023 for zero and subnormals.
constexpr int exponent_of(double x) { return static_cast<int>((std::bit_cast<std::uint64_t>(x) >> 52) & 0x7ff) - 1023; }

/// Distance of neighbouring numbers of `precision` significand bits near x (x normal in that format).
constexpr double spacing(double x, int precision) { return pow2(std::max(exponent_of(x), -900) - precision + 1); }

/// ln x for x >= 1, to about 1e-15: x = m 2^e with m in [1, 2), ln m = 2 artanh((m-1)/(m+1)); z <= 1/3, so 20 terms do.
constexpr double natural_log(double x) {
  const int e = exponent_of(x);
  const double m = x / pow2(e);
  const double z = (m - 1) / (m + 1);
  double series = 0;
  for (int n = 39; n >= 1; n -= 2) series = series * z * z + 1.0 / n;
  return e * 0.6931471805599453 + 2 * z * series;
}

/// x, or the largest finite number of the format with its sign.
constexpr double clamp_to(Format format, double x) {
  return std::clamp(x, -info(format).max_finite, info(format).max_finite);
}

/// ±1 with equal chances.
inline double random_sign(Random& random) { return random.chance(0.5) ? 1.0 : -1.0; }

/// Positive, log-uniform: m 2^e with e in lo..hi and m in [1, 2).
inline double magnitude(Random& random, int lo, int hi) {
  const auto e = static_cast<int>(random.integer(lo, hi));
  return pow2(e) * random.uniform(1, 2);
}

template <class T, std::size_t n>
const T& pick(Random& random, const T (&list)[n]) {
  return list[random.integer(0, static_cast<std::int64_t>(n) - 1)];
}

}  // namespace flashproof
