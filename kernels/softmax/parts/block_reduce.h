// One value per thread of a block, combined: butterflies in the warps, then a left fold over them.
#pragma once

#include "kernels/simt/simt.h"

namespace flashproof::FP_EXECUTOR {

struct Plus {
  __device__ float operator()(float p, float q) const { return __fadd_rn(p, q); }
};

/// Lane t with lane t ^ 16, then 8, 4, 2, 1; every lane of the warp gets the result, bit by bit the same: `op` must
/// commute.
template <class Op>
__device__ __forceinline__ float warp_reduce(float value, Op op) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value = op(value, __shfl_xor_sync(0xffffffffU, value, offset));
  }
  return value;
}

/// Every thread of a block of kWarps warps gets the result. Barriers on both sides of the exchange, so that `partial`
/// can be used again at once.
template <int kWarps, class Op>
__device__ __forceinline__ float block_reduce(float value, float* partial, Op op) {
  const int t = static_cast<int>(threadIdx.x);
  value = warp_reduce(value, op);
  if (t % 32 == 0) {
    partial[t / 32] = value;
  }
  __syncthreads();
  float result = partial[0];
  for (int w = 1; w < kWarps; ++w) {
    result = op(result, partial[w]);
  }
  __syncthreads();
  return result;
}

}  // namespace flashproof::FP_EXECUTOR
