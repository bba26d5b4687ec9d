// One warp per row, the row in its registers: what frameworks run for short rows. No barrier, no shared memory.
//
//   computes   o[r,j] = exp(x[r,j] − m[r]) · (1/d[r]), d[r] = Σ exp(x[r,j] − m[r]);  lse[r] = m[r] + ln d[r]
//   shapes     x, o (rows, cols), cols <= 1024; columns beyond row_length are read as −inf, o there is 0; lse (rows)
//   launch     four rows to a block of 128. Accesses of 16 bytes where x and o allow it
//   edges      reference semantics; a row too long is refused
//   arithmetic f32; lanes are dealt 16 bytes of x at a time (vectors.h), each sums its columns left to right; butterfly
//              (16, 8, 4, 2, 1); exp accurate; one reciprocal per row
//   source     PyTorch's persistent softmax (PersistentSoftmax.cuh: softmax_warp_forward), the form for rows up to 1024
//   chosen     16-byte accesses, the order of the sum, the reciprocal
#pragma once

#include <string>

#include "kernels/softmax/parts/resident_row.h"

namespace flashproof::FP_EXECUTOR {

inline constexpr int kWarpRows = 4;  // of a block
inline constexpr int kWarpColumns = 1024;

template <Format F, class Variant, int kVectors>
__global__ void __launch_bounds__(32 * kWarpRows) warp_per_row(SoftmaxArgs a, bool by_vector) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t at = std::int64_t{blockIdx.x} * kWarpRows + threadIdx.x / 32;
  if (at >= a.rows) {
    return;  // the whole warp
  }
  const int row = static_cast<int>(at);
  ResidentRow<F, kVectors> mine(a, row, lane, 32, by_vector);
  const float m = warp_reduce(mine.maximum(), QuickMax{});
  const float d = warp_reduce(mine.sum(resident_frame<Variant>(m)), Plus{});
  finish_resident<Variant>(a, mine, row, lane == 0, m, d);
}

template <class Variant>
void launch_warp_per_row(const SoftmaxArgs& args, Stream stream) {
  const bool by_vector = moves_by_vector(args);
  dispatch_format(args.format, [&]<Format F>() {
    const auto start = [&](auto kernel) {
      const dim3 grid(static_cast<unsigned>((args.rows + std::int64_t{kWarpRows} - 1) / kWarpRows));
      launch(kernel, grid, dim3(32 * kWarpRows), 0, stream, args, by_vector);
    };
    constexpr int kMost = kWarpColumns / 32 / kVector<F>;
    if (args.cols <= kWarpColumns / 4) {
      start(warp_per_row<F, Variant, kMost / 4>);
    } else if (args.cols <= kWarpColumns / 2) {
      start(warp_per_row<F, Variant, kMost / 2>);
    } else {
      start(warp_per_row<F, Variant, kMost>);
    }
  });
}

inline std::string warp_per_row_unsupported(const Problem& problem) {
  const std::int64_t cols = std::get<SoftmaxProblem>(problem).x.shape[1];
  if (cols > kWarpColumns) {
    return "cols = " + std::to_string(cols) + ": the row is held in the registers of a warp, legal range 0.." +
           std::to_string(kWarpColumns);
  }
  return {};
}

inline constexpr Arithmetic kWarpPerRowArithmetic = {.reduction = Reduction::two_pass,
                                                     .exp_error = kDetExpError,
                                                     .log_error = kDetLogError,
                                                     .lanes = 32,
                                                     .warps = 1,
                                                     .vector_bytes = kVectorBytes,
                                                     .ending = Ending::multiply_reciprocal};

}  // namespace flashproof::FP_EXECUTOR
