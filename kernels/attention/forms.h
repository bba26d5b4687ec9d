// What distinguishes the published, the hardened and the seeded-fault forms of the attention kernels.
#pragma once

namespace flashproof {

struct AttentionPublished {
  static constexpr bool kGuardsEmpty = false;     // nothing special while a maximum is −inf
  static constexpr bool kPropagatesNan = false;   // max ignores NaN
  static constexpr bool kIsolatesHidden = false;  // a hidden key still multiplies its v by 0
  static constexpr bool kRescalesAccumulator = true;
};

struct AttentionHardened {
  static constexpr bool kGuardsEmpty = true;
  static constexpr bool kPropagatesNan = true;
  static constexpr bool kIsolatesHidden = true;
  static constexpr bool kRescalesAccumulator = true;
};

}  // namespace flashproof
