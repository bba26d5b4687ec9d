#include "reference/model/machine.h"

#include <algorithm>
#include <numbers>

#include "reference/problem/special_values.h"

namespace flashproof::model {

namespace {

constexpr double kF32Limit = 0x1.ffffffp127;  // what rounds to infinity
constexpr double kEvaluation = 0x1p-50;       // relative, of libm's double functions: kept clear of the declared error

}  // namespace

float within(double exact, double error, double lean) {
  const auto rounded = static_cast<float>(exact + lean * error);
  if (std::fabs(rounded - exact) <= error) return rounded;
  // Rounding left the interval at the end it leans to: its neighbour is inside.
  return std::nextafter(rounded, rounded > exact ? -HUGE_VALF : HUGE_VALF);
}

double Machine::lean(double direction) {
  const double sign = direction > 0 ? 1 : direction < 0 ? -1 : (random_.chance(0.5) ? 1 : -1);
  switch (lean_) {
    case Lean::nearest:
      return 0;
    case Lean::up:
      return 1;
    case Lean::down:
      return -1;
    case Lean::random:
      return random_.uniform(-1, 1);
    case Lean::extreme:
      return random_.chance(0.5) ? 1 : -1;
    case Lean::aligned:
      return sign;
    case Lean::opposed:
      break;
  }
  return -sign;
}

float Machine::exponential(double exact, float argument, double direction) {
  if (argument != argument || argument == 0) return argument != argument ? argument : 1.0F;
  if (argument == kMinusInf) return 0.0F;
  const double part = lean(direction);
  float result = 0.0F;
  if (exact >= kF32Limit) {
    return std::numeric_limits<float>::infinity();
  } else if (exact >= kMinNormal) {
    result = within(exact, (arithmetic_.exp_error - kEvaluation) * exact, part);
    if (flush_) result = std::max(result, static_cast<float>(kMinNormal));
  } else if (flush_) {
    result = part > 0 ? static_cast<float>(kMinNormal) : 0.0F;
  } else {
    result = std::max(0.0F, within(exact, exp_underflow(arithmetic_), part));
  }
  return argument < 0 ? std::min(result, 1.0F) : result;
}

float Machine::exp(float x, double direction) {
  x = kept(x);
  if (functions_ != nullptr) return functions_->exp(x);
  return exponential(std::exp(static_cast<double>(x)), x, direction);
}

float Machine::exp2(float x, double direction) {
  x = kept(x);
  if (functions_ != nullptr) return functions_->exp2(x);
  return exponential(std::exp2(static_cast<double>(x)), x, direction);
}

float Machine::logarithm(double exact, double absolute, double direction) {
  if (!(std::fabs(exact) < kInfinity)) return static_cast<float>(exact);
  if (exact == 0) return 0.0F;
  const double error = arithmetic_.log_error * std::fabs(exact) + absolute;
  return within(exact, error * (1 - kEvaluation), lean(direction));
}

float Machine::log(float x, double direction) {
  if (functions_ != nullptr) return functions_->log(kept(x));
  return logarithm(std::log(static_cast<double>(kept(x))), arithmetic_.log_absolute, direction);
}

float Machine::log2(float x, double direction) {
  if (functions_ != nullptr) return functions_->log2(kept(x));
  return logarithm(std::log2(static_cast<double>(kept(x))), arithmetic_.log_absolute / std::numbers::ln2, direction);
}

float Machine::reciprocal(float x, double direction) {
  x = kept(x);
  const double exact = 1 / static_cast<double>(x);
  if (arithmetic_.reciprocal_error == 0 || !(std::fabs(exact) < kF32Limit) || std::fabs(exact) < kMinNormal) {
    return kept(1.0F / x);
  }
  return within(exact, (arithmetic_.reciprocal_error - kEvaluation) * std::fabs(exact),
                lean(direction) * (exact < 0 ? -1 : 1));
}

float Machine::tanh(float x, double direction) {
  const double exact = std::tanh(static_cast<double>(kept(x)));
  if (exact != exact) return x;
  return kept(std::clamp(within(exact, arithmetic_.tanh_error, lean(direction)), -1.0F, 1.0F));
}

}  // namespace flashproof::model
