// The factor that seed 003 prints for the old output: e^{−m'}·l / (l'·e^{−m}), its exponentials formed apart.
#pragma once

#include "kernels/attention/parts/scores.h"

namespace flashproof::FP_EXECUTOR {

/// A positive number with all its bits.
__device__ inline bool is_normal(float x) { return x >= 0x1p-126F && x <= 0x1.fffffep127F; }

/// e_new = e^{−m'}, e = e^{−m}. Hardened, NaN where one of the numbers that it is made of is not normal: the factor would
/// be wrong, and finite. The state before any key (l = 0) counts 0, but the next factor needs e_new.
template <class Variant>
__device__ inline float separated_ratio(float e_new, float l, float l_new, float e) {
  const float numerator = __fmul_rn(e_new, l);
  const float denominator = __fmul_rn(l_new, e);
  if (!Variant::kGuardsEmpty) {
    return __fdiv_rn(numerator, denominator);
  }
  const bool first = l == 0.0F;
  if (!is_normal(e_new) || (!first && (!is_normal(e) || !is_normal(numerator) || !is_normal(denominator)))) {
    return __int_as_float(det::kNan);
  }
  return first ? 0.0F : __fdiv_rn(numerator, denominator);
}

}  // namespace flashproof::FP_EXECUTOR
