// Blocks that are softmaxes of their own, (p_i, m_i, d_i), merged all at once by their maxima and sums.
//
//   computes   o[r,j] = p_i[j]·d_i·exp(m_i − M) / D, M = max m_i, D = Σ d_i·exp(m_i − M);  lse[r] = M + ln D
//   shapes     x, o (rows, cols), the blocks are the chunks of the plan; columns beyond row_length belong to no chunk, o
//              there is 0; lse (rows)
//   launch     two: one warp per chunk and row, then grid = rows, block = 128; workspace: p, m and d in f32
//   edges      published: any block that is all −inf has p = NaN, m = −inf, d = NaN, and so has the row. hardened:
//              reference semantics
//   arithmetic f32; in a chunk as chunk_states.h says; D left to right in visiting order; ((p·d)·w) / D, w computed
//              afresh; exp accurate
//   source     seed 002 ("Online Softmax": safe_softmax2 and online_softmax)
//   chosen     fixed by the seed: the formula, the order of its products, Python's sum from left to right. Open there and
//              chosen here: the order inside a chunk; lse; max ignores NaN when published (PyTorch's does not; d and D are
//              NaN all the same)

#include "kernels/softmax/parts/chunk_states.h"

namespace flashproof::FP_EXECUTOR {

template <Format F, class Variant>
__global__ void merge_md(SoftmaxArgs a, ChunkStates states) {
  const int row = static_cast<int>(blockIdx.x);
  const int t = static_cast<int>(threadIdx.x);
  const std::int64_t first = static_cast<std::int64_t>(row) * a.chunks;
  const std::int64_t out = static_cast<std::int64_t>(row) * a.cols;

  float largest = kMinusInf;
  for (int n = 0; n < a.chunks; ++n) {
    largest = larger<Variant>(largest, states.m[first + n]);
  }
  const bool empty = Variant::kGuardsEmpty && largest == kMinusInf;
  float total = 0.0F;
  for (int n = 0; n < a.chunks; ++n) {
    const ChunkRange chunk = visited(a, row, n);
    if (chunk.begin < chunk.end) {
      const float w = math_exp(__fsub_rn(states.m[first + n], largest));
      total = __fadd_rn(total, __fmul_rn(states.d[first + n], w));
    }
  }
  for (int n = 0; n < a.chunks; ++n) {
    const ChunkRange chunk = visited(a, row, n);
    const float w = math_exp(__fsub_rn(states.m[first + n], largest));
    for (std::int64_t j = chunk.begin + t; j < a.boundary[a.order[n] + 1]; j += kRowThreads) {
      float y = 0.0F;
      if (j < chunk.end && !empty) {
        y = __fdiv_rn(__fmul_rn(__fmul_rn(states.p[out + j], states.d[first + n]), w), total);
      }
      store<F>(a.o, out + j, y);
    }
  }
  if (t == 0) {
    store<Format::f32>(a.lse, row, empty ? kMinusInf : __fadd_rn(largest, math_log(total)));
  }
}

template <class Variant>
void launch_merge_md(const SoftmaxArgs& args, Stream stream) {
  launch_chunk_merge<Variant>(args, stream, []<Format F>() { return merge_md<F, Variant>; });
}

std::span<const KernelDeclaration> softmax_merge_md() {
  static const KernelDeclaration declarations[] = {
      declaration("softmax.merge_md.published", chunk_merge_arithmetic(MergeWeights::max_sum),
                  launch_merge_md<SoftmaxPublished>, {.workspace = ChunkStates::workspace}),
      declaration("softmax.merge_md.hardened", chunk_merge_arithmetic(MergeWeights::max_sum),
                  launch_merge_md<SoftmaxHardened>, {.workspace = ChunkStates::workspace}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
