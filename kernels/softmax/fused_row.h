// One block per row, the row in registers: one read and one write of global memory.
//
//   computes   o[r,j] = exp(x[r,j] − m[r]) · (1/d[r]), d[r] = Σ exp(x[r,j] − m[r]);  lse[r] = m[r] + ln d[r]
//   shapes     x, o (rows, cols), cols <= 32768 in f32 and 65536 in 16 bits; columns beyond row_length are read as −inf, o
//              there is 0; lse (rows)
//   launch     grid = rows; block = the power of two next to cols/16, 32..1024. Accesses of 16 bytes where x and o allow it
//   edges      published: a row of −inf gives −inf − (−inf) = NaN. hardened: reference semantics. A row too long is refused
//   arithmetic f32; lanes are dealt 16 bytes of x at a time (vectors.h), each sums its columns left to right; butterfly
//              over all lanes, t with t + lanes/2 first; exp accurate; one reciprocal per row
//   source     seed 001 ("why the fused kernel fails for large rows": MN reads, MN writes, O(N) on chip)
//   chosen     fixed by the seed: the row on chip, one read, one write, the length that does not fit. The seed's listing
//              stops at the load; chosen here: registers, the order of the sum, the reciprocal; max ignores NaN
#pragma once

#include <bit>
#include <string>

#include "kernels/softmax/parts/resident_row.h"

namespace flashproof::FP_EXECUTOR {

inline constexpr int kFusedColumns = 16;  // of a thread, where 1024 threads are not too few
inline constexpr int kFusedThreads = 1024;
inline constexpr int kFusedLongest32 = kFusedThreads * 32;
inline constexpr int kFusedLongest16 = kFusedThreads * 64;

/// Threads, and partial sums, of a row.
inline int fused_row_lanes(std::int64_t columns) {
  const auto wanted = static_cast<std::uint64_t>((columns + kFusedColumns - 1) / kFusedColumns);
  const std::uint64_t power = std::bit_ceil(wanted);
  return static_cast<int>(power < 32 ? 32 : power > kFusedThreads ? kFusedThreads : power);
}

/// Every thread gets the largest value. `partial`: a float per warp.
__device__ __forceinline__ float fused_maximum(float value, float* partial) {
  const int t = static_cast<int>(threadIdx.x);
  value = warp_reduce(value, QuickMax{});
  if (t % 32 == 0) partial[t / 32] = value;
  __syncthreads();
  const int warps = static_cast<int>(blockDim.x) / 32;
  return warp_reduce(t % 32 < warps ? partial[t % 32] : kMinusInf, QuickMax{});
}

/// Thread t with t + threads/2 first, then threads/4 ...: across the warps through shared memory, then in the first one.
/// `lane_sum`: a float per thread.
__device__ __forceinline__ float fused_sum(float value, float* lane_sum) {
  const int t = static_cast<int>(threadIdx.x);
  lane_sum[t] = value;
  for (int half = static_cast<int>(blockDim.x) / 2; half >= 32; half /= 2) {
    __syncthreads();
    if (t < half) {
      value = __fadd_rn(value, lane_sum[t + half]);
      lane_sum[t] = value;
    }
  }
  if (t < 32) {
    value = warp_reduce(value, Plus{});
    if (t == 0) lane_sum[0] = value;
  }
  __syncthreads();
  return lane_sum[0];
}

template <Format F, class Variant, int kVectors>
__global__ void __launch_bounds__(kFusedThreads) fused_row(SoftmaxArgs a, bool by_vector) {
  FP_SHARED(float, partial, kFusedThreads / 32);
  FP_SHARED(float, lane_sum, kFusedThreads);
  const int row = static_cast<int>(blockIdx.x);
  const int t = static_cast<int>(threadIdx.x);
  ResidentRow<F, kVectors> mine(a, row, t, static_cast<int>(blockDim.x), by_vector);
  const float m = fused_maximum(mine.maximum(), partial);
  const float d = fused_sum(mine.sum(resident_frame<Variant>(m)), lane_sum);
  finish_resident<Variant>(a, mine, row, t == 0, m, d);
}

template <class Variant>
void launch_fused_row(const SoftmaxArgs& args, Stream stream) {
  const int threads = fused_row_lanes(args.cols);
  const bool by_vector = moves_by_vector(args);
  const int columns = static_cast<int>((args.cols + std::int64_t{threads} - 1) / threads);  // of a thread
  dispatch_format(args.format, [&]<Format F>() {
    const auto start = [&](auto kernel) {
      launch(kernel, dim3(static_cast<unsigned>(args.rows)), dim3(static_cast<unsigned>(threads)), 0, stream, args,
             by_vector);
    };
    constexpr int kShort = kFusedColumns / kVector<F>;
    if (columns <= kFusedColumns) {
      start(fused_row<F, Variant, kShort>);
    } else if (F == Format::f32 || columns <= 2 * kFusedColumns) {
      start(fused_row<F, Variant, 2 * kShort>);
    } else if constexpr (F != Format::f32) {
      start(fused_row<F, Variant, 4 * kShort>);
    }
  });
}

inline std::string fused_row_unsupported(const Problem& problem) {
  const Tensor& x = std::get<SoftmaxProblem>(problem).x;
  const int most = x.format == Format::f32 ? kFusedLongest32 : kFusedLongest16;
  if (x.shape[1] > most) {
    return "cols = " + std::to_string(x.shape[1]) + ": the row is held in registers, legal range 0.." +
           std::to_string(most) + " in " + std::string(info(x.format).name);
  }
  return {};
}

inline constexpr Arithmetic kFusedRowArithmetic = {.reduction = Reduction::two_pass,
                                                   .exp_error = kDetExpError,
                                                   .log_error = kDetLogError,
                                                   .lanes = 0,
                                                   .lanes_of = fused_row_lanes,
                                                   .warps = 1,
                                                   .vector_bytes = kVectorBytes,
                                                   .ending = Ending::multiply_reciprocal};

}  // namespace flashproof::FP_EXECUTOR
