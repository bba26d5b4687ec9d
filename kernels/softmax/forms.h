// What distinguishes the published, the hardened and the seeded-fault forms of one softmax algorithm. A broken kernel
// derives from Hardened and changes one line.
#pragma once

namespace flashproof {

struct SoftmaxPublished {
  static constexpr bool kGuardsEmpty = false;    // nothing special while the running maximum is −inf
  static constexpr bool kPropagatesNan = false;  // max ignores NaN
  static constexpr bool kCoversTail = false;     // columns beyond the last full stride of the block are dropped
  static constexpr bool kFixedBlock = true;      // the block size printed by the source
};

struct SoftmaxHardened {
  static constexpr bool kGuardsEmpty = true;
  static constexpr bool kPropagatesNan = true;
  static constexpr bool kCoversTail = true;
  static constexpr bool kFixedBlock = false;
};

}  // namespace flashproof
