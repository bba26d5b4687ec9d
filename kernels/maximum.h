// The two maxima a kernel may use for its running frame: the one that keeps NaN and the one that ignores it.
#pragma once

#include <limits>

#include "kernels/simt/det_math/det_math.h"
#include "kernels/simt/simt.h"

namespace flashproof::FP_EXECUTOR {

/// The running maximum of nothing, and the score of a hidden key.
inline constexpr float kMinusInf = -std::numeric_limits<float>::infinity();

/// As fmaxf: the other operand if one is NaN. Of two zeros the second, on both executors.
__device__ __forceinline__ float max_num(float a, float b) { return a > b || b != b ? a : b; }

/// One instruction each on the GPU: the number where the other operand is NaN; +0 counts as larger than −0.
__device__ __forceinline__ float max_number(float a, float b) {
#if defined(__CUDACC__)
  return fmaxf(a, b);
#else
  if (a == b) return __int_as_float(__float_as_int(a) & __float_as_int(b));
  return a > b || b != b ? a : b;
#endif
}
__device__ __forceinline__ float min_number(float a, float b) {
#if defined(__CUDACC__)
  return fminf(a, b);
#else
  if (a == b) return __int_as_float(__float_as_int(a) | __float_as_int(b));
  return a < b || b != b ? a : b;
#endif
}

template <class Variant>
__device__ __forceinline__ float larger(float a, float b) {
  return Variant::kPropagatesNan ? max_nan(a, b) : max_num(a, b);
}

}  // namespace flashproof::FP_EXECUTOR
