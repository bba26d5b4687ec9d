// What distinguishes the published, the hardened and the seeded-fault forms of the attention kernels.
#pragma once

namespace flashproof {

struct AttentionPublished {
  static constexpr bool guards_empty = false;     // nothing special while a maximum is −inf
  static constexpr bool propagates_nan = false;   // max ignores NaN
  static constexpr bool isolates_hidden = false;  // a hidden key still multiplies its v by 0
  static constexpr bool rescales_accumulator = true;
};

struct AttentionHardened {
  static constexpr bool guards_empty = true;
  static constexpr bool propagates_nan = true;
  static constexpr bool isolates_hidden = true;
  static constexpr bool rescales_accumulator = true;
};

}  // namespace flashproof
