// Arguments for the tests of exp: uniform, tiny, and close to where the reduced argument is extreme.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/oracle/fp64/vector/proven_exp.h"
#include "reference/problem/random.h"

namespace flashproof {

/// Where the measured error of proven_exp is largest: r just above -ln 2/2, that is x a little above (k - 1/2)·ln 2.
inline std::vector<double> exp_worst_points(int count, std::uint64_t seed) {
  Random random(seed, 1);
  std::vector<double> points;
  for (int i = 0; i < count; ++i) {
    const double k = static_cast<double>(random.integer(-1019, 1023));
    const double r = random.uniform(-0.34657, -0.30);
    const double x = k * 0x1.62e42fefa39efp-1 + r;
    if (x >= kExpLowest && x <= kExpHighest) points.push_back(x);
  }
  return points;
}

/// Both sides of every change of k, every multiple of ln 2, the ends, zeros, and tiny and subnormal numbers.
inline std::vector<double> exp_boundary_points() {
  std::vector<double> points = {0.0, -0.0, kExpLowest, kExpHighest};
  for (int half_k = -2040; half_k <= 2046; ++half_k) {
    double x = half_k * (0x1.62e42fefa39efp-1 / 2);
    for (int i = 0; i < 6; ++i) x = std::nextafter(x, -1000);
    for (int i = 0; i < 12; ++i, x = std::nextafter(x, 1000)) {
      if (x >= kExpLowest && x <= kExpHighest) points.push_back(x);
    }
  }
  for (int e = -1074; e <= 9; ++e) {
    for (const double sign : {1.0, -1.0}) {
      points.push_back(sign * std::ldexp(1.0, e));
      points.push_back(sign * std::ldexp(1.3, e));
    }
  }
  return points;
}

inline std::vector<double> exp_random_points(int count, std::uint64_t seed) {
  Random random(seed, 2);
  std::vector<double> points;
  points.reserve(count);
  for (int i = 0; i < count; ++i) {
    switch (i % 4) {
      case 0:
        points.push_back(random.uniform(kExpLowest, kExpHighest));
        break;
      case 1:
        points.push_back(random.uniform(-1, 1));
        break;
      case 2:
        points.push_back(random.uniform(-30, 10));
        break;
      default:
        const int exponent = static_cast<int>(random.integer(-60, 9));
        points.push_back(std::ldexp(random.uniform(-1, 1), exponent));
        break;
    }
  }
  return points;
}

}  // namespace flashproof
