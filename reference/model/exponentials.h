// Weights and factors of a declaration's Exponent, in the unit of its scores.
#pragma once

#include <numbers>

#include "reference/model/machine.h"

namespace flashproof::model {

class Exponentials {
 public:
  /// `unit`: what a score of ScoreUnit::raw is multiplied by; 1 for natural ones.
  Exponentials(Machine& machine, Exponent form, float unit)
      : machine_(machine), form_(form), factor_(static_cast<float>(unit * std::numbers::log2e)) {}

  /// ĉ = fl(unit · log2 e).
  float factor() const { return factor_; }

  /// The weight of a key with the computed score x in the frame f.
  float weight(float x, float f, double direction) {
    switch (form_) {
      case Exponent::fused:
        // −inf needs no fma: f·ĉ is finite wherever a key is visible.
        return machine_.exp2(machine_.fma(x, factor_, -machine_.mul(f, factor_)), direction);
      case Exponent::unfused:
        return machine_.exp2(machine_.sub(machine_.mul(x, factor_), machine_.mul(f, factor_)), direction);
      case Exponent::accurate:
      case Exponent::scaled_exp2:
      case Exponent::subtract_then_scale:
        break;
    }
    return ratio(x, f, direction);
  }

  /// e^a, nothing subtracted.
  float unshifted(float a, double direction) {
    if (form_ == Exponent::accurate) return machine_.exp(a, direction);
    return machine_.exp2(machine_.mul(a, factor_), direction);
  }

  /// e^{a − b} of two frames of a running state: the difference first, in every form.
  float ratio(float a, float b, double direction) {
    const float difference = machine_.sub(a, b);
    if (form_ == Exponent::accurate) return machine_.exp(difference, direction);
    return machine_.exp2(machine_.mul(difference, factor_), direction);
  }

 private:
  Machine& machine_;
  Exponent form_;
  float factor_;
};

}  // namespace flashproof::model
