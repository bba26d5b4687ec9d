// The transcendental functions that kernels call. By default the deterministic ones (det_math.h), the same bits
// everywhere. Native math: the GPU's own approximations, those of nvcc -use_fast_math. For CUDA that is a second build of a
// kernel file, with FP_NATIVE_MATH, in a namespace of its own (simt.h); on the CPU executor the same build, which asks at
// every call (native_math.h) and then has the bits of the GPU. `flashproof probe` certifies how far they are from the truth.
//
// Native mode changes these functions alone. Products, sums, fma and quotients keep their one rounding to nearest and
// their subnormals, and nothing is contracted: the kernels write them as intrinsics. The approximations flush subnormal
// arguments and results to zero (.ftz), so a native kernel declares Underflow::flush, which covers the gradual
// operations, too (reference/bound/declare/profile.h).
#pragma once

#include "kernels/simt/det_math/det_math.h"
#include "kernels/simt/simt.h"
#if !defined(__CUDACC__)
#include "kernels/simt/native_math.h"
#endif

namespace flashproof::FP_EXECUTOR {

#if defined(FP_NATIVE_MATH)

__device__ __forceinline__ float math_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
/// exp2(fl(x·fl(log2 e))): the hardware has no e^x. Declared as Exponent::scaled_exp2.
__device__ __forceinline__ float math_exp(float x) { return math_exp2(__fmul_rn(x, ExpCoefficients::log2_e)); }
__device__ __forceinline__ float math_exp_scaled(float x) { return math_exp(x); }
/// fl(lg2(x)·fl(ln 2)), as __logf.
__device__ __forceinline__ float math_log(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return __fmul_rn(y, 0x1.62e430p-1F);
}
/// 1/x.
__device__ __forceinline__ float math_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float math_tanh(float x) {
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

#elif defined(__CUDACC__)

__device__ __forceinline__ float math_exp2(float x) { return det_exp2(x); }
__device__ __forceinline__ float math_exp(float x) { return det_exp(x); }
/// e^x as kernels with "fast math" form it: exp2(fl(x·fl(log2 e))).
__device__ __forceinline__ float math_exp_scaled(float x) { return det_exp_scaled(x); }
__device__ __forceinline__ float math_log(float x) { return det_log(x); }
/// 1/x.
__device__ __forceinline__ float math_reciprocal(float x) { return __frcp_rn(x); }
__device__ __forceinline__ float math_tanh(float x) { return det_tanh(x); }

#else

#define FP_NATIVE_OR_DET(native, det) (__builtin_expect(simt::native_math, 0) ? simt::native : det)
__forceinline__ float math_exp2(float x) { return FP_NATIVE_OR_DET(native_exp2(x), det_exp2(x)); }
__forceinline__ float math_exp(float x) { return FP_NATIVE_OR_DET(native_exp(x), det_exp(x)); }
__forceinline__ float math_exp_scaled(float x) { return FP_NATIVE_OR_DET(native_exp(x), det_exp_scaled(x)); }
__forceinline__ float math_log(float x) { return FP_NATIVE_OR_DET(native_log(x), det_log(x)); }
__forceinline__ float math_reciprocal(float x) { return FP_NATIVE_OR_DET(native_reciprocal(x), __frcp_rn(x)); }
__forceinline__ float math_tanh(float x) { return FP_NATIVE_OR_DET(native_tanh(x), det_tanh(x)); }
#undef FP_NATIVE_OR_DET

#endif

}  // namespace flashproof::FP_EXECUTOR
