#include "reference/oracle/symbolic.h"

#include <cmath>
#include <limits>

#include "reference/oracle/environment_guard.h"

namespace flashproof {

ScoreClass classify_score(double score) {
  if (std::isfinite(score)) return ScoreClass::finite;
  return score == -std::numeric_limits<double>::infinity() ? ScoreClass::hidden : ScoreClass::poison;
}

double state_score(double m, double l) {
  if (!std::isfinite(m)) return m;
  if (l == 0) return -std::numeric_limits<double>::infinity();
  return std::isfinite(l) ? m : std::numeric_limits<double>::quiet_NaN();
}

ScoreClass classify_score(double scale, double dot, double softcap, double bias) {
  if (bias == -std::numeric_limits<double>::infinity()) return ScoreClass::hidden;
  double score = scale * dot;
  if (softcap > 0.0 && std::isinf(score)) score = std::copysign(softcap, score);
  return classify_score(score + bias);
}

void ValueFlags::add(double value) {
  if (std::isnan(value)) nan = true;
  if (std::isinf(value)) (value > 0 ? positive : negative) = true;
}

std::uint8_t ValueFlags::classes() const {
  if (nan) return kNaN;
  if (!positive && !negative) return kFinite;
  return static_cast<std::uint8_t>(kNaN | (positive ? kPosInf : 0) | (negative ? kNegInf : 0));
}

Ball zero_ball() { return {}; }

Ball special_ball(std::uint8_t classes) {
  Ball ball;
  ball.classes = classes;
  return ball;
}

Ball zero_or_nan_ball() { return special_ball(kFinite | kNaN); }

}  // namespace flashproof
