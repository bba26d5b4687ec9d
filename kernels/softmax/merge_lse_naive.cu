// Blocks that are softmaxes of their own, (p_i, lse_i), merged all at once by e^{lse_i}, nothing subtracted.
//
//   computes   o[r,j] = p_i[j]·w_i / W, w_i = exp(lse_i), W = Σ w_i;  lse[r] = ln W
//   shapes     x, o (rows, cols), the blocks are the chunks of the plan; columns beyond row_length belong to no chunk, o
//              there is 0; lse (rows)
//   launch     two: one warp per chunk and row, then grid = rows, block = 128; workspace: p, m and d in f32
//   edges      published: lse_i > 88.72 gives inf/inf; before that, in silence, W overflows and o is 0 (four lse = 88);
//              all lse_i below −104 give 0/0; any block of −inf is NaN, and so is the row. hardened: reference semantics;
//              a row whose W is no normal f32 is NaN
//   arithmetic f32; in a chunk as chunk_states.h says; W left to right in visiting order; (p·w) / W; exp accurate
//   source     seed 002 ("Optimized Online Softmax": safe_softmax3 and online_softmax2)
//   chosen     fixed by the seed: the formula, products before the division. Open there and chosen here: the order inside
//              a chunk and in weights.sum(); lse, ln W; max ignores NaN when published (PyTorch's does not; W is NaN all
//              the same)

#include "kernels/softmax/parts/chunk_states.h"

namespace flashproof::FP_EXECUTOR {

template <Format F, class Variant>
__global__ void merge_lse_naive(SoftmaxArgs a, ChunkStates states) {
  const int row = static_cast<int>(blockIdx.x);
  const int t = static_cast<int>(threadIdx.x);
  const std::int64_t first = static_cast<std::int64_t>(row) * a.chunks;
  const std::int64_t out = static_cast<std::int64_t>(row) * a.cols;
  const auto weight = [&](int n) {
    const bool none = Variant::kGuardsEmpty && states.m[first + n] == kMinusInf;
    return none ? 0.0F : math_exp(__fadd_rn(states.m[first + n], math_log(states.d[first + n])));
  };

  bool empty = Variant::kGuardsEmpty;
  float total = 0.0F;
  for (int n = 0; n < a.chunks; ++n) {
    const ChunkRange chunk = visited(a, row, n);
    empty = empty && states.m[first + n] == kMinusInf;
    if (chunk.begin < chunk.end) {
      total = __fadd_rn(total, weight(n));
    }
  }
  const bool refused = Variant::kRefusesBeyondRange && !in_normal_range(total);
  for (int n = 0; n < a.chunks; ++n) {
    const ChunkRange chunk = visited(a, row, n);
    const float w = weight(n);
    for (std::int64_t j = chunk.begin + t; j < a.boundary[a.order[n] + 1]; j += kRowThreads) {
      float y = 0.0F;
      if (j < chunk.end && !empty) {
        y = refused ? kNoNumber : __fdiv_rn(__fmul_rn(states.p[out + j], w), total);
      }
      store<F>(a.o, out + j, y);
    }
  }
  if (t == 0) {
    const float lse = refused ? kNoNumber : math_log(total);
    store<Format::f32>(a.lse, row, empty ? kMinusInf : lse);
  }
}

template <class Variant>
void launch_merge_lse_naive(const SoftmaxArgs& args, Stream stream) {
  launch_chunk_merge<Variant>(args, stream, []<Format F>() { return merge_lse_naive<F, Variant>; });
}

std::span<const KernelDeclaration> softmax_merge_lse_naive() {
  static const KernelDeclaration declarations[] = {
      declaration("softmax.merge_lse_naive.published", chunk_merge_arithmetic(MergeWeights::unshifted),
                  launch_merge_lse_naive<SoftmaxPublished>, {.workspace = ChunkStates::workspace}),
      declaration("softmax.merge_lse_naive.hardened", chunk_merge_arithmetic(MergeWeights::unshifted),
                  launch_merge_lse_naive<SoftmaxHardened>,
                  {.workspace = ChunkStates::workspace, .refuses_beyond_range = true}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
