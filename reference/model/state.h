// Partial results of a reduction and how they end.
#pragma once

#include <vector>

#include "reference/model/exponentials.h"
#include "reference/model/machine.h"

namespace flashproof::model {

/// Un-normalised: the keys' weights relative to e^frame sum to l, times their values to o. frame = −inf: no key.
struct State {
  float frame = kMinusInf;  // in the unit of the scores
  float l = 0;
  std::vector<float> o = {};
  double pull = 0;  // of its keys, where a machine aims

  bool empty() const { return frame == kMinusInf; }
};

/// A result: o, and lse = −inf where there is no key.
struct Normalised {
  std::vector<float> o = {};
  float lse = kMinusInf;
  double pull = 0;

  bool empty() const { return lse == kMinusInf; }
};

/// Endings of a declaration, for frames in its unit.
class Endings {
 public:
  Endings(Machine& machine, const Arithmetic& arithmetic, float unit)
      : machine_(machine), arithmetic_(arithmetic), unit_(unit), natural_(machine, arithmetic.exponent, 1.0F) {}

  /// Of one un-normalised state, which may be empty.
  Normalised end(const State& state);
  /// Exponentials of lse values.
  Exponentials& natural() { return natural_; }
  /// One element of a weighted sum over its sum of weights; r = fl(1/l), w = e^{m − lse}, as prepared by factor().
  float quotient(float n, float l, float factor) const;
  /// What quotient() needs beside l: the reciprocal or the weight; 1 where it divides.
  float factor(float frame, float l, float lse);
  float lse(float frame, float l);

 private:
  float natural_frame(float frame) const;

  Machine& machine_;
  const Arithmetic& arithmetic_;
  float unit_;
  Exponentials natural_;
};

}  // namespace flashproof::model
