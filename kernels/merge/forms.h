// What distinguishes the published and the hardened forms of the merges.
#pragma once

namespace flashproof {

struct MergePublished {
  static constexpr bool kGuardsEmpty = false;  // the source's formula for every state, an empty one too
};

struct MergeHardened {
  static constexpr bool kGuardsEmpty = true;  // an empty state is the identity, NaN and +inf make the row NaN
};

}  // namespace flashproof
