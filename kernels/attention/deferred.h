// One pass over the keys in chunks of any size and order; the accumulator stays un-normalised until the end
// (FlashAttention-2).
//
//   computes   o[i] = Σ_j p_ij v_j, p_ij = exp(s_ij − lse_i), s_ij by attention/parts/scores.h; lse_i = m_i + ln l_i
//   shapes     q (B, Hq, Sq, d), k (B, Hk, Sk, d), v (B, Hk, Sk, dv), bias (B, Hq, Sq, Sk); o (B, Hq, Sq, dv);
//              lse (B, Hq, Sq); packed and paged forms; any strides on the inputs
//   launch     grid = (⌈Sq/16⌉, Hq, B); block = 128; see attention/parts/tile.h. d <= 576, dv <= 512; the scores of a chunk
//              and a tile must fit 227 KiB of shared memory; the chunk plan is an argument
//   edges      reference semantics, hidden keys are isolated; a score that overflows is NaN, never a lost key
//   arithmetic f32. m' = max(m, max s), α = e^{m−m'}, p = e^{s−m'}; per lane l = l·α + Σ p left to right, one
//              butterfly (3) at the end; acc = acc·α, then one fma chain over the keys; o = acc / l; exp accurate
//   source     Dao 2023 (FlashAttention-2), section 3.1; Milakov & Gimelshein 2018
//   chosen     safe exp of subtracted scores instead of the fused exponent fma(s·c − m·c)
#pragma once

#include "kernels/attention/parts/tile_scores.h"
#include "kernels/attention/parts/unsupported.h"
#include "kernels/declaration.h"
#include "kernels/maximum.h"

namespace flashproof::FP_EXECUTOR {

template <class Variant, int kGroups>
__global__ void deferred(AttentionArgs a, TileShape shape) {
  const Tile tile(a, shape);
  if (tile.idle()) return;
  const Scoring<Variant> scoring(a, tile.place);
  float m = scoring.sink_frame(a, tile.place);
  float l_lane = tile.lane == 0 ? sink_sum(m) : 0.0F;  // this lane's share of the sum
  float4 acc[kGroups];
  fill4(acc, sink_output(m));
  for (int n = 0; n < a.chunks; ++n) {
    const Chunk<Variant> chunk(a, tile, n);
    if (chunk.skip) continue;
    const float m_new = max_nan(m, chunk_scores<Variant>(a, tile, scoring, chunk.begin, chunk.keys));
    const bool empty = m_new == kMinusInf;  // still no key that counts for this row: its weights become kHidden
    const float alpha = empty ? 1.0F : scoring.ratio(m, m_new);
    m = m_new;
    const float added = chunk_weights<Variant>(tile, scoring, chunk.keys, m);
    l_lane = __fadd_rn(__fmul_rn(l_lane, alpha), added);
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      acc[i] = scale4(alpha, acc[i]);
    }
    accumulate_values<Variant>(a, tile, chunk.begin, chunk.keys, acc);
  }

  const float l = row_sum(l_lane);
  const bool empty = m == kMinusInf;
#pragma unroll
  for (int i = 0; i < kGroups; ++i) {
    acc[i] = empty ? acc[i] : divide4(acc[i], l);
  }
  store_row(a, tile, acc, empty ? kMinusInf : scoring.lse(m, l));
}

template <class Variant>
void launch_attention_deferred(const AttentionArgs& args, Stream stream) {
  launch_tiled(args, args.max_chunk, stream, [](auto groups) { return deferred<Variant, decltype(groups)::value>; });
}

inline constexpr Arithmetic kDeferredArithmetic = tiled_arithmetic(Reduction::chunk_deferred, Ending::divide);

}  // namespace flashproof::FP_EXECUTOR
