// What distinguishes the published, the hardened and the seeded-fault forms of the pairwise merge.
#pragma once

namespace flashproof {

struct MergePublished {
  static constexpr bool kGuardsEmpty = false;   // the formula of the source, divisions by 1 + e^{difference}
  static constexpr bool kMisprintsLse = false;  // ln(1 + exp(lse1 − exp(lse0))), as the source prints it
};

struct MergeHardened {
  static constexpr bool kGuardsEmpty = true;
  static constexpr bool kMisprintsLse = false;
};

}  // namespace flashproof
