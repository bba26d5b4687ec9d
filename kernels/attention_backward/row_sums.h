// D_i = dO_i·o_i of every query row, into the workspace, before the loops of a backward kernel.
//
//   launch     block 128: 16 rows, 8 lanes each
//   arithmetic 8 fma chains per row (columns g, g+8, ...), added in a tree, neighbours first
#pragma once

#include "kernels/attention_backward/tile.h"
#include "kernels/attention_backward/tile_launch.h"

namespace flashproof::FP_EXECUTOR::backward {

/// D of every query row; and, if there is a sum for dq in the workspace, zeros in it.
template <Format F, Format kO>
__global__ void row_sums(BackwardArgs args, float* delta, float* dq_sum) {
  const AttentionArgs& a = args.forward;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kTile + thread_row();
  const bool mine = row < static_cast<std::int64_t>(a.batch) * a.q_heads * a.q_length;
  float sum = 0.0F;
  if (mine) {
    const std::int64_t i = row % a.q_length;
    const std::int64_t h = row / a.q_length % a.q_heads;
    const std::int64_t b = row / a.q_length / a.q_heads;
    const std::int64_t d_out = b * args.d_out_stride[0] + h * args.d_out_stride[1] + i * args.d_out_stride[2];
    const std::int64_t o = b * args.o_stride[0] + h * args.o_stride[1] + i * args.o_stride[2];
    for (int c = thread_lane(); c < a.value_dim; c += kRowLanes) {
      sum = __fmaf_rn(load<F>(args.d_out, d_out + c * args.d_out_stride[3]), load<kO>(args.o, o + c * args.o_stride[3]),
                      sum);
    }
    if (dq_sum != nullptr) {
      for (int c = thread_lane(); c < a.head_dim; c += kRowLanes) {
        dq_sum[row * a.head_dim + c] = 0.0F;
      }
    }
  }
  for (int offset = 1; offset < kRowLanes; offset *= 2) {
    sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffffU, sum, offset));
  }
  if (mine && thread_lane() == 0) {
    delta[row] = sum;
  }
}

template <Format F>
void launch_row_sums(const BackwardArgs& args, float* delta, float* dq_sum, Stream stream) {
  const AttentionArgs& a = args.forward;
  const dim3 grid(tiles_of(static_cast<std::int64_t>(a.batch) * a.q_heads * a.q_length));
  dispatch_format(args.o_format, [&]<Format kO>() {
    launch(row_sums<F, kO>, grid, dim3(kTileThreads), 0, stream, args, delta, dq_sum);
  });
}

}  // namespace flashproof::FP_EXECUTOR::backward
