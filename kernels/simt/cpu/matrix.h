// Matrix instructions, asynchronous copies and conversions in pairs, the same calls on both executors.
//
//   mma_m16n8k16<F>(d, a, b)          d = a·b + d; F f16 or bf16, d f32. With g = lane / 4 and t = lane % 4 (PTX ISA,
//                                     "Matrix fragments for mma.m16n8k16"), two neighbours in k per register of a and b,
//                                     the lower one in the low half:
//                                       d[0..3]   (g, 2t)   (g, 2t+1)   (g+8, 2t)   (g+8, 2t+1)
//                                       a[0..3]   (g, 2t)   (g+8, 2t)   (g, 2t+8)   (g+8, 2t+8)      row, k
//                                       b[0..1]   (2t, g)   (2t+8, g)                                k, column
//   ldmatrix_x4(r, row)               four 8x8 matrices of 16-bit numbers: lane l brings the address of row l % 8 of
//                                     matrix l / 8, 16 bytes of shared memory, and gets of each matrix m in r[m] the
//                                     elements (g, 2t) and (g, 2t+1); _trans: (2t, g) and (2t+1, g). _x2: two matrices,
//                                     lanes 16 and above bring nothing
//   cp_async_16(to, from, valid)      starts a copy of 16 bytes, global to shared memory; 16 zeros where not valid, and
//                                     then `from` is not read
//   cp_async_commit()                 this thread's copies since the last call become a group
//   cp_async_wait<N>()                until at most N of this thread's groups are under way. Another thread sees the
//                                     data behind a barrier that follows
//   pack<F>(low, high)                two floats to one register of f16 or bf16
//
// Matrix instructions are collectives of the whole warp.
#pragma once

#include "kernels/simt/simt.h"
#if defined(__CUDACC__)
#include "kernels/simt/cuda_matrix.h"
#else
#include "kernels/simt/cpu/cpu_matrix.h"
#endif
