// One pass over the keys in chunks of any size and order; the old output is rescaled by e^{−m'}·l / (l'·e^{−m}) with
// exponentials of their own, and every weight of the chunk is divided by l' on its own.
//
//   computes   o[i] = Σ_j p_ij v_j, p_ij = exp(s_ij − lse_i), s_ij by attention/parts/scores.h; lse_i = m_i + ln l_i
//   shapes     q (B, Hq, Sq, d), k (B, Hk, Sk, d), v (B, Hk, Sk, dv), bias (B, Hq, Sq, Sk); o (B, Hq, Sq, dv);
//              lse (B, Hq, Sq); packed and paged forms; any strides on the inputs
//   launch     grid = (⌈Sq/16⌉, Hq, B); block = 128; see attention/parts/tile.h. d <= 576, dv <= 512; the scores of a chunk
//              and a tile must fit 227 KiB of shared memory; the chunk plan is an argument
//   edges      published: silently wrong from a maximum of some 95 on (e^{−m} is subnormal), NaN beyond 104 (0/0) and
//              below −88 (inf·0); any chunk without a visible key gives −inf − (−inf) = NaN.
//              hardened: where e^{−m} or a product with it is no normal number the row is NaN (refuses_beyond_range); else
//              reference semantics, hidden keys are isolated; a score that overflows is NaN, never a lost key
//   arithmetic f32. frame m̃ of the chunk, l̃ = Σ e^{s−m̃} (8 lane sums, butterfly of 3), m' = max(m, m̃), β = e^{m̃−m'},
//              l' = e^{m−m'}·l + β·l̃, P = e^{s−m̃}/l' each, o' = (e^{−m'}·l)/(l'·e^{−m})·o + β·Σ P v; Σ over the keys is
//              one fma chain; nothing else is fused; exp accurate
//   source     seed 003, "Summary", update rules
//   chosen     fixed by the seed: the formula, e^{−m} separated, every term divided by l'. Open there and chosen here: the
//              sums' order, m = −inf, l = 0, o = 0 at the start; max ignores NaN when published

#include "kernels/attention/parts/tile_scores.h"
#include "kernels/attention/parts/unsupported.h"
#include "kernels/attention/separated.h"
#include "kernels/declaration.h"
#include "kernels/maximum.h"
#include "kernels/simt/det_math/det_error.h"

namespace flashproof::FP_EXECUTOR {

template <class Variant, int kGroups>
__global__ void online_chunk_split(AttentionArgs a, TileShape shape) {
  const Tile tile(a, shape);
  if (tile.idle()) return;
  const Scoring<Variant> scoring(a, tile.place);
  float m = scoring.sink_frame(a, tile.place);
  float l = sink_sum(m);
  float e = math_exp(-m);
  float4 o[kGroups];
  fill4(o, sink_output(m));
  for (int n = 0; n < a.chunks; ++n) {
    const Chunk<Variant> chunk(a, tile, n);
    if (chunk.skip) continue;
    const float m_chunk = chunk_scores<Variant>(a, tile, scoring, chunk.begin, chunk.keys);
    const float l_chunk = row_sum(chunk_weights<Variant>(tile, scoring, chunk.keys, m_chunk));
    const float m_new = larger<Variant>(m, m_chunk);
    const float beta = scoring.ratio(m_chunk, m_new);
    const float l_new = __fadd_rn(__fmul_rn(scoring.ratio(m, m_new), l), __fmul_rn(beta, l_chunk));
    divide_weights<Variant>(tile, chunk.keys, l_new);
    float4 pv[kGroups] = {};
    accumulate_values<Variant>(a, tile, chunk.begin, chunk.keys, pv);
    if (Variant::kGuardsEmpty && m_chunk == kMinusInf) {
      continue;  // no key of this chunk counts for this row
    }

    const float e_new = math_exp(-m_new);
    const float kept = separated_ratio<Variant>(e_new, l, l_new, e);
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      o[i] = add4(scale4(kept, o[i]), scale4(beta, pv[i]));
    }
    m = Variant::kGuardsEmpty && det::is_nan(kept) ? kept : m_new;
    l = l_new;
    e = e_new;
  }

  const bool empty = Variant::kGuardsEmpty && m == kMinusInf;
  store_row(a, tile, o, empty ? kMinusInf : scoring.lse(m, l));
}

template <class Variant>
void launch_attention_online_chunk_split(const AttentionArgs& args, Stream stream) {
  launch_tiled(args, args.max_chunk, stream,
               [](auto groups) { return online_chunk_split<Variant, decltype(groups)::value>; });
}

inline constexpr Arithmetic kOnlineChunkSplitArithmetic = {.reduction = Reduction::chunk_normalized,
                                                           .exp_error = kDetExpError,
                                                           .log_error = kDetLogError,
                                                           .tanh_error = kDetTanhError,
                                                           .lanes = kRowLanes,
                                                           .separated_exponent = true,
                                                           .ending = Ending::divide};

std::span<const KernelDeclaration> attention_online_chunk_split() {
  static const KernelDeclaration declarations[] = {
      declaration("attention.online_chunk_split.published", kOnlineChunkSplitArithmetic,
                  launch_attention_online_chunk_split<AttentionPublished>, {.unsupported = published_refusal()}),
      declaration("attention.online_chunk_split.hardened", kOnlineChunkSplitArithmetic,
                  launch_attention_online_chunk_split<AttentionHardened>,
                  {.unsupported = hardened_refusal(), .refuses_beyond_range = true}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
