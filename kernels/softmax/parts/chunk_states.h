// What the n-way merges of a softmax begin with: every chunk of every row a softmax of its own, (p, m, d), in the
// workspace. merge_md.cu and merge_lse_naive.cu combine them.
//
// One warp per chunk: lane t sums columns t, t+32, ... of the chunk left to right, then a butterfly (5).
#pragma once

#include "kernels/softmax/parts/whole_row.h"
#include "kernels/softmax/parts/workspace.h"

namespace flashproof::FP_EXECUTOR {

/// p (rows, cols); m and d (rows, chunks), chunks in visiting order. A chunk with no column of its row has m = −inf and
/// d = 0.
struct ChunkStates {
  float *p, *m, *d;

  static std::int64_t bytes(const SoftmaxExtents& e) { return 4 * (e.elements() + 2 * e.states()); }
  static std::int64_t workspace(const Problem& problem) { return bytes(SoftmaxExtents::of(problem)); }
  static ChunkStates in(const SoftmaxArgs& args) {
    const SoftmaxExtents extents = SoftmaxExtents::of(args);
    require_workspace(args.workspace, bytes(extents));
    auto* const p = static_cast<float*>(args.workspace.data);
    return {p, p + extents.elements(), p + extents.elements() + extents.states()};
  }
};

/// The columns of chunk `visit` of the visiting order that the row has; none if begin >= end.
struct ChunkRange {
  int begin, end;
};
__device__ __forceinline__ ChunkRange visited(const SoftmaxArgs& a, int row, int visit) {
  const int length = a.row_length ? a.row_length[row] : a.cols;
  return {a.boundary[a.order[visit]], min(a.boundary[a.order[visit] + 1], length)};
}

template <Format F, class Variant>
__global__ void chunk_states(SoftmaxArgs a, ChunkStates states) {
  const int row = static_cast<int>(blockIdx.x) / a.chunks;
  const int visit = static_cast<int>(blockIdx.x) % a.chunks;
  const int t = static_cast<int>(threadIdx.x);
  const ChunkRange chunk = visited(a, row, visit);
  const std::int64_t base = row * a.x_row;
  const auto maximum = [](float p, float q) { return larger<Variant>(p, q); };

  float m = kMinusInf;
  for (std::int64_t j = chunk.begin + t; j < chunk.end; j += 32) {
    m = maximum(m, load<F>(a.x, base + j * a.x_col));
  }
  m = warp_reduce(m, maximum);
  const bool empty = chunk.begin >= chunk.end || (Variant::kGuardsEmpty && m == kMinusInf);
  float d = 0.0F;
  if (!empty) {
    for (std::int64_t j = chunk.begin + t; j < chunk.end; j += 32) {
      d = __fadd_rn(d, math_exp(__fsub_rn(load<F>(a.x, base + j * a.x_col), m)));
    }
    d = warp_reduce(d, Plus{});
  }
  for (std::int64_t j = chunk.begin + t; j < chunk.end; j += 32) {
    states.p[static_cast<std::int64_t>(row) * a.cols + j] =
        empty ? 0.0F : __fdiv_rn(math_exp(__fsub_rn(load<F>(a.x, base + j * a.x_col), m)), d);
  }
  if (t == 0) {
    const std::int64_t at = static_cast<std::int64_t>(row) * a.chunks + visit;
    states.m[at] = m;
    states.d[at] = d;
  }
}

/// Both launches of a merge; `combine` is its second kernel, a block of 128 per row.
template <class Variant, class Combine>
void launch_chunk_merge(const SoftmaxArgs& args, Stream stream, Combine combine) {
  const ChunkStates states = ChunkStates::in(args);
  dispatch_format(args.format, [&]<Format F>() {
    const dim3 chunks(static_cast<unsigned>(SoftmaxExtents::of(args).states()));
    launch(chunk_states<F, Variant>, chunks, dim3(32), 0, stream, args, states);
    launch(combine.template operator()<F>(), dim3(static_cast<unsigned>(args.rows)), dim3(kRowThreads), 0, stream, args,
           states);
  });
}

constexpr Arithmetic chunk_merge_arithmetic(MergeWeights weights) {
  return {.reduction = Reduction::chunk_states,
          .exp_error = kDetExpError,
          .log_error = kDetLogError,
          .lanes = 32,
          .warps = 1,
          .merge_weights = weights,
          .ending = Ending::divide};
}

}  // namespace flashproof::FP_EXECUTOR
