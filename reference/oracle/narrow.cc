#include <algorithm>
#include <cmath>

#include "reference/oracle/environment_guard.h"
#include "reference/oracle/oracle.h"

namespace flashproof {

// The value v lies in the ball, so |v| >= nearest: |hi + lo| >= the double before |hi|, because |lo| <= ulp(hi)/2 (for a
// power of two: one ulp of the binade below). ulp(v) is monotone in |v|, so ulp(nearest) <= ulp(v) and the answer errs
// only towards false, where the ball reaches across a power of two.
//
// A relative alternative such as "or 2^-60 of the value" would change nothing: ulp(v) > 2^-p |v|, so 2^-12 ulp exceeds
// 2^-36 |v| in f32 and more in every narrower format.
//
// Beyond the format's range the exponent goes on as if it had no end. The spacing of the last binade would be
// unreachable there: an lse may be 2^400, and hi + lo itself rounds at 2^-107 of that, far above f32's last spacing.
//
// Among the subnormals of f64 the limit is the least radius that a double can say.
bool narrow_enough(const Ball& ball, Format format) {
  if ((ball.classes & kFinite) == 0) return true;
  const int least = info(format).min_exponent - info(format).precision + 1;  // spacing of the subnormals
  const double nearest = std::nextafter(std::fabs(ball.hi), 0.0) - ball.radius;
  const int spacing = nearest > 0.0 ? std::max(std::ilogb(nearest) - info(format).precision + 1, least) : least;
  return ball.radius <= std::max(std::ldexp(1.0, spacing - 12), 0x1p-1074);
}

}  // namespace flashproof
