// One pass over the keys in chunks of any size and order; the output is normalised after every chunk
// (FlashAttention-1).
//
//   computes   o[i] = Σ_j p_ij v_j, p_ij = exp(s_ij − lse_i), s_ij by attention/parts/scores.h; lse_i = m_i + ln l_i
//   shapes     q (B, Hq, Sq, d), k (B, Hk, Sk, d), v (B, Hk, Sk, dv), bias (B, Hq, Sq, Sk); o (B, Hq, Sq, dv);
//              lse (B, Hq, Sq); packed and paged forms; any strides on the inputs
//   launch     grid = (⌈Sq/16⌉, Hq, B); block = 128; see attention/parts/tile.h. d <= 576, dv <= 512; the scores of a chunk
//              and a tile must fit 227 KiB of shared memory; the chunk plan is an argument
//   edges      published: any chunk without a visible key gives −inf − (−inf) = NaN.
//              hardened: reference semantics, hidden keys are isolated; a score that overflows is NaN, never a lost key
//   arithmetic f32. frame m̃ of the chunk, l̃ = Σ e^{s−m̃} (8 lane sums, butterfly of 3), m' = max(m, m̃),
//              α = e^{m−m'}, β = e^{m̃−m'}, a = l·α, l' = a + β·l̃, o' = (a·o + β·Σ e^{s−m̃} v) · (1/l');
//              Σ over the keys is one fma chain; nothing else is fused; exp accurate
//   source     seed 003 (last formula of the summary); Dao et al. 2022, algorithm 1
//   chosen     fixed by the seed: the formula and its order of factors. Open there and chosen here: the sums' order,
//              the reciprocal 1/l' multiplied in, m = −inf, l = 0, o = 0 at the start; max ignores NaN when published
#pragma once

#include "kernels/attention/parts/tile_scores.h"
#include "kernels/attention/parts/unsupported.h"
#include "kernels/declaration.h"
#include "kernels/maximum.h"

namespace flashproof::FP_EXECUTOR {

template <class Variant, int kGroups>
__global__ void online_chunk(AttentionArgs a, TileShape shape) {
  const Tile tile(a, shape);
  if (tile.idle()) return;
  const Scoring<Variant> scoring(a, tile.place);
  float m = scoring.sink_frame(a, tile.place);
  float l = sink_sum(m);
  float4 o[kGroups];
  fill4(o, sink_output(m));
  for (int n = 0; n < a.chunks; ++n) {
    const Chunk<Variant> chunk(a, tile, n);
    if (chunk.skip) continue;
    const float m_chunk = chunk_scores<Variant>(a, tile, scoring, chunk.begin, chunk.keys);
    const float l_chunk = row_sum(chunk_weights<Variant>(tile, scoring, chunk.keys, m_chunk));
    float4 pv[kGroups] = {};
    accumulate_values<Variant>(a, tile, chunk.begin, chunk.keys, pv);
    if (Variant::kGuardsEmpty && m_chunk == kMinusInf) {
      continue;  // no key of this chunk counts for this row
    }

    const float m_new = larger<Variant>(m, m_chunk);
    const float beta = scoring.ratio(m_chunk, m_new);
    const float l_old = __fmul_rn(l, scoring.ratio(m, m_new));
    l = __fadd_rn(l_old, __fmul_rn(beta, l_chunk));
    const float inv_l = math_reciprocal(l);
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      o[i] = scale4(inv_l, add4(scale4(l_old, o[i]), scale4(beta, pv[i])));
    }
    m = m_new;
  }

  const bool empty = Variant::kGuardsEmpty && m == kMinusInf;
  store_row(a, tile, o, empty ? kMinusInf : scoring.lse(m, l));
}

template <class Variant>
void launch_attention_online_chunk(const AttentionArgs& args, Stream stream) {
  launch_tiled(args, args.max_chunk, stream,
               [](auto groups) { return online_chunk<Variant, decltype(groups)::value>; });
}

inline constexpr Arithmetic kAttentionOnlineChunkArithmetic =
    tiled_arithmetic(Reduction::chunk_normalized, Ending::multiply_reciprocal);

}  // namespace flashproof::FP_EXECUTOR
