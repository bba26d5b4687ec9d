// What distinguishes the published and the hardened forms of one softmax algorithm.
#pragma once

#include <limits>

namespace flashproof {

// Variables, because device code may not call a constexpr host function.
inline constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kLeastNormal = std::numeric_limits<float>::min();
inline constexpr float kLargestFinite = std::numeric_limits<float>::max();

struct SoftmaxPublished {
  static constexpr bool kGuardsEmpty = false;         // nothing special while the running maximum is −inf
  static constexpr bool kPropagatesNan = false;       // max ignores NaN
  static constexpr bool kCoversTail = false;          // columns beyond the last full stride of the block are dropped
  static constexpr bool kFixedBlock = true;           // the block size printed by the source
  static constexpr bool kRefusesBeyondRange = false;  // sums of unshifted exponentials are taken as they come
};

struct SoftmaxHardened {
  static constexpr bool kGuardsEmpty = true;
  static constexpr bool kPropagatesNan = true;
  static constexpr bool kCoversTail = true;
  static constexpr bool kFixedBlock = false;
  static constexpr bool kRefusesBeyondRange = true;
};

}  // namespace flashproof
