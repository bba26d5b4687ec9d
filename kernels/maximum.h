// The two maxima a kernel may use for its running frame: the one that keeps NaN and the one that ignores it.
#pragma once

#include <limits>

#include "kernels/simt/det_math.h"
#include "kernels/simt/simt.h"

namespace flashproof::FP_EXECUTOR {

/// The running maximum of nothing, and the score of a hidden key.
inline constexpr float kMinusInf = -std::numeric_limits<float>::infinity();

/// As fmaxf: the other operand if one is NaN. Of two zeros the second, on both executors.
__device__ __forceinline__ float max_num(float a, float b) { return a > b || b != b ? a : b; }

template <class Variant>
__device__ __forceinline__ float larger(float a, float b) {
  return Variant::kPropagatesNan ? max_nan(a, b) : max_num(a, b);
}

}  // namespace flashproof::FP_EXECUTOR
