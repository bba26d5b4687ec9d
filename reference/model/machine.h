// The scalar operations of a declaration: f32, rounded to nearest even, subnormals kept or flushed, and the functions with
// the errors that a Roundings chooses.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/bound/declare/arithmetic.h"
#include "reference/model/roundings.h"
#include "reference/problem/random.h"

#ifdef __FAST_MATH__
#error "a model of arithmetic must not be built with -ffast-math"
#endif

namespace flashproof::model {

inline constexpr float kMinusInf = -std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class Machine {
 public:
  /// `stream` separates the draws of the rows of a problem.
  Machine(const Arithmetic& arithmetic, const Roundings& roundings, std::uint64_t stream)
      : arithmetic_(arithmetic),
        flush_(arithmetic.underflow == Underflow::flush),
        lean_(roundings.lean),
        functions_(roundings.functions),
        random_(roundings.seed, stream) {}

  float add(float a, float b) const { return kept(kept(a) + kept(b)); }
  float sub(float a, float b) const { return kept(kept(a) - kept(b)); }
  float mul(float a, float b) const { return kept(kept(a) * kept(b)); }
  float div(float a, float b) const { return kept(kept(a) / kept(b)); }
  float fma(float a, float b, float c) const { return kept(std::fma(kept(a), kept(b), kept(c))); }
  /// NaN where one of them is.
  static float max(float a, float b) { return a != a || a > b ? a : b; }

  /// e^x and 2^x with the declared error. `direction`: the sign of what a larger result does to the output.
  float exp(float x, double direction);
  float exp2(float x, double direction);
  /// ln x and log2 x of x > 0.
  float log(float x, double direction);
  float log2(float x, double direction);
  float reciprocal(float x, double direction);
  float tanh(float x, double direction);

  /// Do exponentials lean by their direction?
  bool aims() const { return lean_ == Lean::aligned || lean_ == Lean::opposed; }

 private:
  float kept(float x) const { return flush_ && std::fabs(x) < 0x1p-126F ? std::copysign(0.0F, x) : x; }
  /// In [−1, 1]: the part of the declared error to take.
  double lean(double direction);
  float exponential(double exact, float argument, double direction);
  float logarithm(double exact, double absolute, double direction);

  const Arithmetic& arithmetic_;
  bool flush_;
  Lean lean_;
  const Functions* functions_;
  Random random_;
};

/// The f32 number next to exact + lean·error that is within `error` of `exact`; error is at least half an ulp there.
float within(double exact, double error, double lean);

}  // namespace flashproof::model
