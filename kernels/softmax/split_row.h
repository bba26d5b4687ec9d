// Several blocks per row, for rows too long for one: each chunk of the plan has a block, the chunks' (m, d) are folded, and
// the blocks normalise.
//
//   computes   o[r,j] = exp(x[r,j] − m[r]) · (1/d[r]), d[r] = Σ exp(x[r,j] − m[r]);  lse[r] = m[r] + ln d[r]
//   shapes     x, o (rows, cols); columns beyond row_length belong to no chunk, o there is 0; lse (rows)
//   launch     three: a block of 256 per chunk and row; a warp per row; a block of 256 per chunk and row. Workspace: m, d of
//              every chunk and 1/d, m of every row, f32. The second read of a chunk comes from the cache: 2MN reads, MN
//              writes. Accesses of 16 bytes where x and o allow it and the chunk begins at a multiple of 16 bytes
//   edges      reference semantics
//   arithmetic f32; in a chunk, in its own frame m̃: lanes are dealt 16 bytes of x at a time (vectors.h), each sums its
//              columns left to right, butterfly in the warp (5), left fold over the warps (8); states folded in visiting
//              order by d·e^{m−m'} + d̃·e^{m̃−m'} (two products, one sum, not fused); exp accurate; one reciprocal per row
//   source     the split of FlashDecoding and of quack's softmax over a cluster, applied to rows; the fold is seed 003's
//              ("Chunk Update")
//   chosen     a launch for the fold, so that no block repeats it; the order of the sums; the reciprocal
#pragma once

#include "kernels/declaration.h"
#include "kernels/simt/det_math/det_error.h"
#include "kernels/simt/math.h"
#include "kernels/softmax/parts/block_reduce.h"
#include "kernels/softmax/parts/forms.h"
#include "kernels/softmax/parts/vectors.h"
#include "kernels/softmax/parts/workspace.h"

namespace flashproof::FP_EXECUTOR {

inline constexpr int kSplitRowThreads = 256;
inline constexpr int kSplitRowWarps = kSplitRowThreads / 32;

/// m and d of the chunks (rows, chunks), in visiting order; of the rows the frame, and 1/d: 0 of an empty row.
struct SplitStates {
  float *m, *d, *frame, *inverse;

  static std::int64_t bytes(const SoftmaxExtents& e) { return 8 * (e.states() + e.rows); }
  static std::int64_t workspace(const Problem& problem) { return bytes(SoftmaxExtents::of(problem)); }
};

/// What a block has of a row: columns [begin, end), of which those up to `stop` are visible.
struct SplitChunk {
  int row, begin, end, stop;
  bool by_vector;
  std::int64_t state;  // its place among the states
};
template <Format F>
__device__ __forceinline__ SplitChunk split_chunk(const SoftmaxArgs& a, bool by_vector) {
  const int row = static_cast<int>(blockIdx.x) / a.chunks;
  const int chunk = a.order[static_cast<int>(blockIdx.x) % a.chunks];
  const int begin = a.boundary[chunk];
  const int end = a.boundary[chunk + 1];
  const bool whole = by_vector && begin % kVector<F> == 0 && end % kVector<F> == 0;
  return {row, begin, end, a.row_length ? min(end, a.row_length[row]) : end, whole, blockIdx.x};
}

/// Calls each(column, vector) for the vectors of this thread, left to right; −inf from `stop` on. Four loads go out
/// together.
template <Format F, class Each>
__device__ __forceinline__ void for_each_vector(const SoftmaxArgs& a, const SplitChunk& chunk, int stop, Each each) {
  constexpr int kAtOnce = 4;
  constexpr int kStep = kSplitRowThreads * kVector<F>;
  const std::int64_t base = chunk.row * a.x_row;
  int col = chunk.begin + static_cast<int>(threadIdx.x) * kVector<F>;
  if (chunk.by_vector) {
    for (; stop - col > (kAtOnce - 1) * kStep; col += kAtOnce * kStep) {
      uint4 raw[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) raw[i] = load_u32x4(vector_at<F>(a.x, base + col + i * kStep));
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) each(col + i * kStep, raw[i]);
    }
    for (; col < stop; col += kStep) each(col, load_u32x4(vector_at<F>(a.x, base + col)));
  } else {
    for (; col < stop; col += kStep) each(col, load_dealt<F>(a, base, col, stop));
  }
}

template <Format F>
__global__ void __launch_bounds__(kSplitRowThreads) split_states(SoftmaxArgs a, SplitStates states, bool by_vector) {
  FP_SHARED(float, partial, kSplitRowWarps);
  const SplitChunk chunk = split_chunk<F>(a, by_vector);
  float m = kMinusInf;
  bool lost = false;  // quick_max passes over NaN
  for_each_vector<F>(a, chunk, chunk.stop, [&](int, const uint4& raw) {
    float x[kVector<F>];
    unpack_vector<F>(raw, x);
#pragma unroll
    for (int e = 0; e < kVector<F>; ++e) {
      m = quick_max(m, x[e]);
      lost = lost || det::is_nan(x[e]);
    }
  });
  m = block_reduce<kSplitRowWarps>(m, partial, QuickMax{});
  const bool poisoned = __syncthreads_or(lost ? 1 : 0) != 0;

  float d = 0.0F;
  if (m != kMinusInf) {
    for_each_vector<F>(a, chunk, chunk.stop, [&](int, const uint4& raw) {
      float x[kVector<F>];
      unpack_vector<F>(raw, x);
#pragma unroll
      for (int e = 0; e < kVector<F>; ++e) d = __fadd_rn(d, math_exp(__fsub_rn(x[e], m)));
    });
  }
  d = block_reduce<kSplitRowWarps>(d, partial, Plus{});
  if (threadIdx.x == 0) {
    states.m[chunk.state] = poisoned ? kNoNumber : m;
    states.d[chunk.state] = d;
  }
}

/// One warp per row: 32 states are loaded at a time and folded one after another, by all lanes alike.
template <class Variant>
__global__ void split_fold(SoftmaxArgs a, SplitStates states) {
  const int row = static_cast<int>(blockIdx.x);
  const int lane = static_cast<int>(threadIdx.x);
  const std::int64_t first = static_cast<std::int64_t>(row) * a.chunks;
  float m = kMinusInf;
  float d = 0.0F;
  for (int n = 0; n < a.chunks; n += 32) {
    const bool mine = n + lane < a.chunks;
    const float m_lane = mine ? states.m[first + n + lane] : kMinusInf;
    const float d_lane = mine ? states.d[first + n + lane] : 0.0F;
    for (int i = 0; i < min(32, a.chunks - n); ++i) {
      const float m_chunk = __shfl_sync(0xffffffffU, m_lane, i);
      const float d_chunk = __shfl_sync(0xffffffffU, d_lane, i);
      const float m_new = larger<Variant>(m, m_chunk);
      if (m_chunk != kMinusInf) {
        d = __fadd_rn(__fmul_rn(d, math_exp(__fsub_rn(m, m_new))),
                      __fmul_rn(d_chunk, math_exp(__fsub_rn(m_chunk, m_new))));
      }
      m = m_new;
    }
  }
  if (lane == 0) {
    const bool empty = m == kMinusInf;
    states.frame[row] = empty ? 0.0F : m;
    states.inverse[row] = empty ? 0.0F : math_reciprocal(d);
    store<Format::f32>(a.lse, row, empty ? kMinusInf : __fadd_rn(m, math_log(d)));
  }
}

template <Format F>
__global__ void __launch_bounds__(kSplitRowThreads) split_normalise(SoftmaxArgs a, SplitStates states, bool by_vector) {
  const SplitChunk chunk = split_chunk<F>(a, by_vector);
  const std::int64_t out = static_cast<std::int64_t>(chunk.row) * a.cols;
  const float m = states.frame[chunk.row];
  const float inverse = states.inverse[chunk.row];
  for_each_vector<F>(a, chunk, chunk.stop, [&](int col, const uint4& raw) {
    float y[kVector<F>];
    unpack_vector<F>(raw, y);
#pragma unroll
    for (int e = 0; e < kVector<F>; ++e) y[e] = __fmul_rn(math_exp(__fsub_rn(y[e], m)), inverse);
    if (chunk.by_vector) {
      store_u32x4(vector_at<F>(a.o, out + col), pack_vector<F>(y));
    } else {
#pragma unroll
      for (int e = 0; e < kVector<F>; ++e) {
        if (col + e < chunk.stop) store<F>(a.o, out + col + e, y[e]);
      }
    }
  });
  const int hidden = max(chunk.begin, chunk.stop);
  for (int j = hidden + static_cast<int>(threadIdx.x); j < chunk.end; j += kSplitRowThreads) {
    store<F>(a.o, out + j, 0.0F);
  }
}

template <class Variant>
void launch_split_row(const SoftmaxArgs& args, Stream stream) {
  const SoftmaxExtents extents = SoftmaxExtents::of(args);
  require_workspace(args.workspace, SplitStates::bytes(extents));
  auto* const m = static_cast<float*>(args.workspace.data);
  float* const frame = m + 2 * extents.states();
  const SplitStates states{m, m + extents.states(), frame, frame + args.rows};
  const bool by_vector = moves_by_vector(args);
  const dim3 chunks(static_cast<unsigned>(extents.states()));
  dispatch_format(args.format, [&]<Format F>() {
    launch(split_states<F>, chunks, dim3(kSplitRowThreads), 0, stream, args, states, by_vector);
    launch(split_fold<Variant>, dim3(static_cast<unsigned>(args.rows)), dim3(32), 0, stream, args, states);
    launch(split_normalise<F>, chunks, dim3(kSplitRowThreads), 0, stream, args, states, by_vector);
  });
}

inline constexpr Arithmetic kSplitRowArithmetic = {.reduction = Reduction::chunked_local,
                                                   .exp_error = kDetExpError,
                                                   .log_error = kDetLogError,
                                                   .lanes = kSplitRowThreads,
                                                   .warps = kSplitRowWarps,
                                                   .vector_bytes = kVectorBytes,
                                                   .ending = Ending::multiply_reciprocal};

}  // namespace flashproof::FP_EXECUTOR
