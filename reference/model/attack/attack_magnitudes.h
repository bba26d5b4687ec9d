// Test support: exponents over all that is legal, for the attacks at extreme magnitudes.
#pragma once

#include <cmath>
#include <cstdint>

#include "reference/bound/declare/arithmetic.h"
#include "reference/problem/formats.h"
#include "reference/problem/random.h"

namespace flashproof::attack {

/// Anywhere in the format, at one of its ends, beside 1, or at half of an end: two such factors meet at the end.
int exponent(Random& random, Format format);
double significand(Random& random);
double sign(Random& random);
/// `value` in f32, its largest number in place of what lies beyond.
float number(double value);
/// log2 of a natural score, or of the difference of two: where softmax does something, or anywhere.
int target(Random& random);

/// Exponents of the factors of a score: q, k, scale and, if there are any, descale factors.
struct ScoreExponents {
  int q, k, scale, q_descale = 0, k_descale = 0;
};

/// One factor makes up for the others, so that scores come near target(), nine times in ten.
ScoreExponents score_exponents(Random& random, Format q, Format k, bool descaled);

/// A published one, or any of which the declaration is legal.
BlockFma any_unit(Random& random);

/// One of: all of one size, one far from the rest, signs that cancel, 0 and 1, all equal (then no error of a weight counts
/// and what is lost absolutely shows), sizes apart.
struct Values {
  Values(Random& random, Format format) : random(random), format(format), story(random.integer(0, 5)) {
    size = exponent(random, format);
    other = exponent(random, format);
  }
  double operator()(std::int64_t j) {
    switch (story) {
      case 0:
        return std::ldexp(significand(random), size);
      case 1:
        return std::ldexp(significand(random), j == 0 ? other : size);
      case 2:
        return std::ldexp(j % 2 == 0 ? 1 : -1, size);
      case 3:
        return j == 0 ? std::ldexp(1, size) : 0;
      case 4:
        return std::ldexp(1, size);
      default:
        return sign(random) * std::ldexp(significand(random), exponent(random, format));
    }
  }
  Random& random;
  Format format;
  std::int64_t story;
  int size, other;
};

}  // namespace flashproof::attack
