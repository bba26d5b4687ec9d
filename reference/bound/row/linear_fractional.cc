// Linear-fractional programming over a box. For a threshold t let
//
//     φ(t) = Σ_j  x_j > t ? b_j (x_j − t) : a_j (x_j − t),
//
// the largest Σ w_j (x_j − t) over the box. A mean above t exists iff φ(t) > 0, so sup = the root of φ, which is convex,
// piecewise linear and falls with slope −Σ w_j(t). Dinkelbach's iteration (1967), t <- mean of the weights that attain
// φ(t), is Newton's: from a mean it climbs to the root without ever passing it, and ends when the weights no longer
// change. What it finds is below the supremum, so a last step moves up until φ is certainly not positive.
#include "reference/bound/row/linear_fractional.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace flashproof::bound {

namespace {

/// sign = −1 turns the problem over: the largest mean of −x.
struct Program {
  std::span<const double> x, a, b;
  double sign;

  double value(std::size_t j) const { return sign * x[j]; }

  /// Mean of the weights that attain φ(t); t itself where they are all 0. An unbounded weight is never above t.
  double step(double t) const {
    double sum = 0;
    double moved = 0;  // Σ w (x − t)
    for (std::size_t j = 0; j < x.size(); ++j) {
      const double w = value(j) > t ? b[j] : a[j];
      sum += w;
      moved += w == 0 ? 0 : w * (value(j) - t);
    }
    return sum > 0 && std::isfinite(moved / sum) ? t + moved / sum : t;
  }

  /// φ(t) <= 0 beyond doubt: the gains are inflated and the losses deflated by more than n roundings.
  bool reached(double t) const {
    const double slack = 1 + (static_cast<double>(x.size()) + 8) * 0x1p-52;
    double gain = 0;
    double loss = 0;
    for (std::size_t j = 0; j < x.size(); ++j) {
      const double above = value(j) - t;
      (above > 0 ? gain : loss) += above > 0 ? (b[j] == 0 ? 0 : b[j] * above) : -(a[j] == 0 ? 0 : a[j] * above);
    }
    return gain * slack <= loss / slack;
  }
};

double solve(const Program& program) {
  const double infinity = std::numeric_limits<double>::infinity();
  double highest = -infinity;  // of the values that may have a weight
  double t = -infinity;
  double size = 0;
  for (std::size_t j = 0; j < program.x.size(); ++j) {
    if (program.b[j] > 0) {
      highest = std::max(highest, program.value(j));
      size = std::max(size, std::fabs(program.x[j]));
      if (program.b[j] == infinity) {
        t = std::max(t, program.value(j));  // its weight may drown all others
      }
    }
  }
  if (t == -infinity) {
    t = std::min(program.step(highest), highest);  // every weight at its least, or `highest` itself
  }
  for (int i = 0; i < 64; ++i) {  // one more key passes below t in each step, and usually nearly all at once
    const double next = std::min(program.step(t), highest);
    if (!(next > t)) {
      break;
    }
    t = next;
  }
  for (double up = size * 0x1p-52; t < highest && !program.reached(t); up *= 2) {
    t = std::min(t + up, highest);
  }
  return t;
}

}  // namespace

double largest_mean(std::span<const double> x, std::span<const double> a, std::span<const double> b) {
  return solve({x, a, b, 1});
}

double smallest_mean(std::span<const double> x, std::span<const double> a, std::span<const double> b) {
  return -solve({x, a, b, -1});
}

}  // namespace flashproof::bound
