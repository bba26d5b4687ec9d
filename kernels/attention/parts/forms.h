// What distinguishes the published and the hardened forms of the attention kernels, and the two
// choices that all of them make: the unit of the scores and the exponential.
#pragma once

#include "reference/bound/declare/arithmetic.h"

namespace flashproof {

struct AttentionPublished {
  static constexpr bool kGuardsEmpty = false;     // nothing special while a maximum is −inf
  static constexpr bool kPropagatesNan = false;   // max ignores NaN
  static constexpr bool kIsolatesHidden = false;  // a hidden key still multiplies its v by 0
  static constexpr ScoreUnit kUnit = ScoreUnit::natural;
  static constexpr Exponent kExponent = Exponent::accurate;
};

struct AttentionHardened {
  static constexpr bool kGuardsEmpty = true;
  static constexpr bool kPropagatesNan = true;
  static constexpr bool kIsolatesHidden = true;
  static constexpr ScoreUnit kUnit = ScoreUnit::natural;
  static constexpr Exponent kExponent = Exponent::accurate;
};

}  // namespace flashproof
