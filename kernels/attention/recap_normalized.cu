// One pass over the keys in chunks of any size and order; every chunk is normalised on its own, and the results are
// joined as (C, L, O) and normalised again.
//
//   computes   o[i] = Σ_j p_ij v_j, p_ij = exp(s_ij − lse_i), s_ij by attention/parts/scores.h; lse_i = C_i + ln L_i
//   shapes     q (B, Hq, Sq, d), k (B, Hk, Sk, d), v (B, Hk, Sk, dv), bias (B, Hq, Sq, Sk); o (B, Hq, Sq, dv);
//              lse (B, Hq, Sq); packed and paged forms; any strides on the inputs
//   launch     grid = (⌈Sq/16⌉, Hq, B); block = 128; see attention/parts/tile.h. d <= 576, dv <= 512; the scores of a chunk
//              and a tile must fit 227 KiB of shared memory; the chunk plan is an argument
//   edges      published: any chunk without a visible key gives −inf − (−inf) = NaN.
//              hardened: reference semantics, hidden keys are isolated; a score that overflows is NaN, never a lost key
//   arithmetic f32. Of the chunk C_i = max s, L_i = Σ e^{s−C_i} (8 lane sums, butterfly of 3), O_i = (Σ e^{s−C_i} v)/L_i;
//              C' = max(C_i, C), a = L_i·e^{C_i−C'}, b = L·e^{C−C'}, L' = a + b, O' = (a·O_i + b·O)/L'; Σ over the keys
//              is one fma chain; nothing else is fused; exp accurate
//   source     seed 000, "Recap the Three-Stage Online Updated Attention", last formula
//   chosen     fixed by the seed: the formula, divisions included. Open there and chosen here: the sums' order, C = −inf,
//              L = 0, O = 0 at the start; max ignores NaN when published

#include "kernels/attention/parts/tile_scores.h"
#include "kernels/attention/parts/unsupported.h"
#include "kernels/declaration.h"
#include "kernels/maximum.h"

namespace flashproof::FP_EXECUTOR {

template <class Variant, int kGroups>
__global__ void recap_normalized(AttentionArgs a, TileShape shape) {
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
    float4 o_chunk[kGroups] = {};
    accumulate_values<Variant>(a, tile, chunk.begin, chunk.keys, o_chunk);
    if (Variant::kGuardsEmpty && m_chunk == kMinusInf) {
      continue;  // no key of this chunk counts for this row
    }

    const float m_new = larger<Variant>(m_chunk, m);
    const float of_chunk = __fmul_rn(l_chunk, scoring.ratio(m_chunk, m_new));
    const float of_old = __fmul_rn(l, scoring.ratio(m, m_new));
    l = __fadd_rn(of_chunk, of_old);
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      const float4 normalised = divide4(o_chunk[i], l_chunk);
      o[i] = divide4(add4(scale4(of_chunk, normalised), scale4(of_old, o[i])), l);
    }
    m = m_new;
  }

  const bool empty = Variant::kGuardsEmpty && m == kMinusInf;
  store_row(a, tile, o, empty ? kMinusInf : scoring.lse(m, l));
}

template <class Variant>
void launch_attention_recap_normalized(const AttentionArgs& args, Stream stream) {
  launch_tiled(args, args.max_chunk, stream,
               [](auto groups) { return recap_normalized<Variant, decltype(groups)::value>; });
}

inline constexpr Arithmetic kRecapNormalizedArithmetic = tiled_arithmetic(Reduction::chunk_recap, Ending::divide);

std::span<const KernelDeclaration> attention_recap_normalized() {
  static const KernelDeclaration declarations[] = {
      declaration("attention.recap_normalized.published", kRecapNormalizedArithmetic,
                  launch_attention_recap_normalized<AttentionPublished>, {.unsupported = published_refusal()}),
      declaration("attention.recap_normalized.hardened", kRecapNormalizedArithmetic,
                  launch_attention_recap_normalized<AttentionHardened>, {.unsupported = hardened_refusal()}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
