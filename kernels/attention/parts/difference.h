// The difference of two raw scores, for exponentials that a scale comes before.
#pragma once

#include "kernels/maximum.h"

namespace flashproof::FP_EXECUTOR {

/// fl(x − frame), which exp2 is asked of times c. Where that overflows, e^−∞ = 0 is right for every c that brings F32Max below
/// the smallest weight; a smaller c (2^-120 F32Max is 256 octaves) may bring the two into reach of each other, and 0 would
/// lose x in silence: NaN.
__device__ __forceinline__ float checked_difference(float x, float frame, float c) {
  const float difference = __fsub_rn(x, frame);
  const bool lost = difference == kMinusInf && x != kMinusInf && -0x1p-120F < c && c < 0x1p-120F;
  return lost ? __int_as_float(det::kNan) : difference;
}

}  // namespace flashproof::FP_EXECUTOR
