// What distinguishes the published, the hardened and the seeded-fault forms of one softmax algorithm. A broken kernel
// derives from Hardened and changes one line.
#pragma once

namespace flashproof {

struct SoftmaxPublished {
  static constexpr bool guards_empty = false;    // nothing special while the running maximum is −inf
  static constexpr bool propagates_nan = false;  // max ignores NaN
  static constexpr bool covers_tail = false;     // columns beyond the last full stride of the block are dropped
  static constexpr bool fixed_block = true;      // the block size printed by the source
};

struct SoftmaxHardened {
  static constexpr bool guards_empty = true;
  static constexpr bool propagates_nan = true;
  static constexpr bool covers_tail = true;
  static constexpr bool fixed_block = false;
};

}  // namespace flashproof
