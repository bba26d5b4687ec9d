// One pass over the keys in chunks of any size and order; the output is normalised after every chunk
// (FlashAttention-1).
//
//   computes   o[i] = Σ_j p_ij v_j, p_ij = exp(s_ij − lse_i), s_ij = scale · q_i·k_j + bias_ij; lse_i = m_i + ln l_i
//   shapes     q (B, Hq, Sq, d), k (B, Hk, Sk, d), v (B, Hk, Sk, dv), bias (B, Hq, Sq, Sk); o (B, Hq, Sq, dv);
//              lse (B, Hq, Sq); any strides on the inputs
//   launch     grid = (⌈Sq/16⌉, Hq, B); block = 128; see attention/tile.h. d, dv <= 256; a chunk and its tiles must
//              fit 227 KiB of shared memory; the chunk plan is an argument
//   edges      published: any chunk without a visible key gives −inf − (−inf) = NaN.
//              hardened: reference semantics, hidden keys are isolated; a score that overflows is NaN, never a lost key
//   arithmetic f32. frame m̃ of the chunk, l̃ = Σ e^{s−m̃} (8 lane sums, butterfly of 3), m' = max(m, m̃),
//              α = e^{m−m'}, β = e^{m̃−m'}, a = l·α, l' = a + β·l̃, o' = (a·o + β·Σ e^{s−m̃} v) · (1/l');
//              Σ over the keys is one fma chain; nothing else is fused; exp accurate
//   source     seed 003 (last formula of the summary); Dao et al. 2022, algorithm 1
//   chosen     fixed by the seed: the formula and its order of factors. Open there and chosen here: the sums' order,
//              the reciprocal 1/l' multiplied in, m = −inf, l = 0, o = 0 at the start; max ignores NaN when published
#pragma once

#include <string>

#include "kernels/attention/tile.h"
#include "kernels/attention/unsupported.h"
#include "kernels/maximum.h"
#include "kernels/registry.h"
#include "kernels/simt/det_error.h"

namespace flashproof::FP_EXECUTOR {

template <Format F, class Variant, int kGroups>
__global__ void online_chunk(AttentionArgs a) {
  FP_DYNAMIC_SHARED(float, shared);
  const Tile tile(a, shared);
  load_queries<F>(a, tile);

  float m = kMinusInf;
  float l = 0.0F;
  float4 o[kGroups] = {};
  for (int n = 0; n < a.chunks; ++n) {
    const int begin = a.boundary[a.order[n]];
    const int keys = min(a.boundary[a.order[n] + 1], tile.length) - begin;
    if (keys <= 0) {
      continue;  // beyond this batch's keys
    }
    __syncthreads();  // the previous chunk is used up
    load_chunk<F>(a, tile, begin, keys);
    __syncthreads();

    const float m_chunk = chunk_scores<Variant>(a, tile, begin, keys);
    const float l_chunk = row_sum(chunk_weights<Variant>(tile, keys, m_chunk));
    __syncwarp();  // p of the row was written by its 8 lanes
    if (Variant::kGuardsEmpty && m_chunk == kMinusInf) {
      continue;  // no key of this chunk counts for this row
    }
    float4 pv[kGroups] = {};
    accumulate_values<Variant>(a, tile, keys, pv);

    const float m_new = larger<Variant>(m, m_chunk);
    const float beta = math_exp(__fsub_rn(m_chunk, m_new));
    const float l_old = __fmul_rn(l, math_exp(__fsub_rn(m, m_new)));
    l = __fadd_rn(l_old, __fmul_rn(beta, l_chunk));
    const float inv_l = math_reciprocal(l);
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      const float4 kept = scale4(l_old, o[i]);
      const float4 added = scale4(beta, pv[i]);
      o[i] = scale4(inv_l, make_float4(__fadd_rn(kept.x, added.x), __fadd_rn(kept.y, added.y),
                                       __fadd_rn(kept.z, added.z), __fadd_rn(kept.w, added.w)));
    }
    m = m_new;
  }

  const bool empty = Variant::kGuardsEmpty && m == kMinusInf;
  store_row<F>(a, tile, o, empty ? kMinusInf : __fadd_rn(m, math_log(l)));
}

template <class Variant>
void launch_attention_online_chunk(const AttentionArgs& args, Stream stream) {
  dispatch_tile(args, [&]<Format F, int kGroups>() {
    launch(online_chunk<F, Variant, kGroups>, tile_grid(args), dim3(kTileThreads),
           static_cast<std::size_t>(tile_bytes(args.max_chunk, args.head_dim, args.value_dim)), stream, args);
  });
}

inline constexpr Arithmetic kOnlineChunkArithmetic = {.reduction = Reduction::chunk_normalized,
                                                      .exp_error = kDetExpError,
                                                      .log_error = kDetLogError,
                                                      .lanes = kRowLanes,
                                                      .ending = Ending::multiply_reciprocal};

}  // namespace flashproof::FP_EXECUTOR
