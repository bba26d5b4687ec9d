// What distinguishes the published and the hardened forms of the merges.
#pragma once

#include "kernels/simt/det_math/det_error.h"
#include "reference/bound/declare/arithmetic.h"

namespace flashproof {

struct MergePublished {
  static constexpr bool kGuardsEmpty = false;  // the source's formula for every state, an empty one too
};

struct MergeHardened {
  static constexpr bool kGuardsEmpty = true;  // an empty state is the identity, NaN and +inf make the row NaN
};

constexpr Arithmetic merge_arithmetic(Reduction reduction, MergeWeights weights) {
  return {.reduction = reduction, .exp_error = kDetExpError, .log_error = kDetLogError, .merge_weights = weights};
}

}  // namespace flashproof
