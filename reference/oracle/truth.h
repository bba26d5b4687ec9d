// What is true: value and radius per output element, never a bare number.
#pragma once

#include <cstdint>
#include <vector>

namespace flashproof {

/// Bits of Ball::classes: which classes of result are right. Several may be (an infinite v whose weight may underflow).
enum Class : std::uint8_t { kFinite = 1, kPosInf = 2, kNegInf = 4, kNaN = 8 };

/// The exact result lies in [hi + lo − radius, hi + lo + radius]; |lo| <= ulp(hi)/2. Meaningful if classes has
/// kFinite. `decided` is false if the precision limit was reached first (then the radius is still a bound).
struct Ball {
  double hi = 0.0;
  double lo = 0.0;
  double radius = 0.0;
  std::uint8_t classes = kFinite;
  bool decided = true;
};

struct Truth {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  std::vector<Ball> o;    // rows x width
  std::vector<Ball> lse;  // rows
  int max_bits = 0;       // the highest precision any row needed; 0 = all symbolic
};

}  // namespace flashproof
