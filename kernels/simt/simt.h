// The one header a kernel file includes instead of the CUDA runtime. The same text then compiles for the GPU (nvcc)
// and for the CPU executor (any C++20 compiler).
//
//   namespace flashproof::FP_EXECUTOR { ... }   everything that is compiled more than once: `cuda` under nvcc,
//                                               `cuda_native` there with FP_NATIVE_MATH (math.h), else `cpu`, or
//                                               `cpu_race` with FP_RACE (shadow.h)
//   FP_SHARED(float, tile, 128);                static shared array, 16-byte aligned; `tile` is a float[128]
//   FP_DYNAMIC_SHARED(float, work);             dynamic shared memory, 16-byte aligned; `work` is a float*
//   load_f32x4(p), store_f32x4(p, v)            16-byte access; the CPU executor checks the alignment
//   FP_NOINLINE                               a function that stays one: rare code beside hot one
//   const FP_GRID_CONSTANT Args a             a kernel parameter whose address may be taken without a copy of it
//   launch(kernel, grid, block, dynamic_shared_bytes, stream, arguments...)
//
// What stays CUDA and works on both: threadIdx, __syncthreads(), shuffles, votes, __syncwarp(mask), atomics, the
// rounding intrinsics (__fmul_rn, ...), float4. Shared memory has no plain `__shared__` form on the CPU, on purpose:
// an array that is not declared through the macro would not be poisoned, so it does not compile.
#pragma once

#if defined(__CUDACC__)
#if defined(FP_NATIVE_MATH)
#define FP_EXECUTOR cuda_native
#else
#define FP_EXECUTOR cuda
#endif
#include "kernels/simt/simt_cuda.h"
#else
#include "kernels/simt/cpu/simt_cpu.h"
#endif
