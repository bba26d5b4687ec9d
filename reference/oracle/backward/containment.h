// For tests: balls of a backward problem against 300 digits.
#pragma once

#include <algorithm>
#include <boost/multiprecision/mpfr.hpp>
#include <cmath>
#include <cstdint>

#include "reference/oracle/backward/textbook.h"
#include "reference/oracle/truth.h"

namespace flashproof::test {

using Fine =
    boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<300>, boost::multiprecision::et_off>;

struct Contained {
  std::int64_t elements = 0, finite = 0, outside = 0, wrong_class = 0, unbounded = 0;
  double closest = 0;  // largest |error| / radius of a ball with a radius

  void operator+=(const Contained& other) {
    elements += other.elements;
    finite += other.finite;
    outside += other.outside;
    wrong_class += other.wrong_class;
    unbounded += other.unbounded;
    closest = std::max(closest, other.closest);
  }
};

/// `shrink` makes every radius that much smaller: the negative control.
inline Contained contained(const Balls& balls, const std::vector<Fine>& exact, const std::vector<Fine>& size,
                           double shrink = 1) {
  Contained result;
  for (std::size_t n = 0; n < balls.size(); ++n) {
    const Ball ball = balls[n];
    ++result.elements;
    if ((ball.classes & kFinite) == 0) {
      const bool beyond = ball.classes == kPosInf ? exact[n] > 1e300 : ball.classes == kNegInf && exact[n] < -1e300;
      result.wrong_class += beyond ? 0 : 1;
      continue;
    }
    ++result.finite;
    if (std::isinf(ball.radius)) {
      ++result.unbounded;
      continue;
    }
    result.outside += std::signbit(ball.radius) ? 1 : 0;  // -0.0 too
    const Fine error = abs(Fine(exact[n] - ball.hi - ball.lo));
    // e^x of an x of 10^6 loses 6 digits, sums a few: 280 of the 300 remain.
    const Fine allowed = Fine(ball.radius) * shrink + size[n] * Fine("1e-270");
    result.outside += error > allowed ? 1 : 0;
    if (ball.radius > 0x1p-590)
      result.closest = std::max(result.closest, Fine(error / ball.radius).convert_to<double>());
  }
  return result;
}

}  // namespace flashproof::test
