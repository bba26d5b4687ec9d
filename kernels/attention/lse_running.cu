// One pass over the keys in chunks of any size and order; the statistic that runs is lse, and it is the floor of the
// next chunk's frame. No division.
//
//   computes   o[i] = Σ_j p_ij v_j, p_ij = exp(s_ij − lse_i), s_ij by attention/parts/scores.h; lse_i
//   shapes     q (B, Hq, Sq, d), k (B, Hk, Sk, d), v (B, Hk, Sk, dv), bias (B, Hq, Sq, Sk); o (B, Hq, Sq, dv);
//              lse (B, Hq, Sq); packed and paged forms; any strides on the inputs
//   launch     grid = (⌈Sq/16⌉, Hq, B); block = 128; see attention/parts/tile.h. d <= 576, dv <= 512; the scores of a chunk
//              and a tile must fit 227 KiB of shared memory; the chunk plan is an argument
//   edges      published: a first chunk without a visible key gives −inf − (−inf) = NaN; later ones pass.
//              hardened: reference semantics, hidden keys are isolated; a score that overflows is NaN, never a lost key
//   arithmetic f32. C' = max(max s, lse), S̄ = e^{s−C'}, O' = e^{C−C'}·O, then one fma chain over the keys of the chunk,
//              L = e^{lse−C'} + Σ S̄ (8 lane sums, butterfly of 3), lse' = C' + ln L; at the end o = O·e^{C−lse}; exp
//              accurate. lse is rounded once per chunk, so its error grows with their number
//   source     seed 000, "A New Matrix-Based Online Update Formula"
//   chosen     fixed by the seed: the formula and C = lse = −inf, O = 0 at the start. Open there and chosen here: the
//              sums' order; max ignores NaN when published

#include "kernels/attention/parts/tile_scores.h"
#include "kernels/attention/parts/unsupported.h"
#include "kernels/declaration.h"
#include "kernels/maximum.h"

namespace flashproof::FP_EXECUTOR {

template <class Variant, int kGroups>
__global__ void lse_running(AttentionArgs a, TileShape shape) {
  const Tile tile(a, shape);
  if (tile.idle()) return;
  const Scoring<Variant> scoring(a, tile.place);
  float m = scoring.sink_frame(a, tile.place);
  float lse = m;
  float4 acc[kGroups];
  fill4(acc, sink_output(m));
  for (int n = 0; n < a.chunks; ++n) {
    const Chunk<Variant> chunk(a, tile, n);
    if (chunk.skip) continue;
    const float m_new = larger<Variant>(chunk_scores<Variant>(a, tile, scoring, chunk.begin, chunk.keys), lse);
    const bool empty = Variant::kGuardsEmpty && m_new == kMinusInf;  // still no key that counts for this row
    const float alpha = empty ? 1.0F : scoring.ratio(m, m_new);
    const float sum = row_sum(chunk_weights<Variant>(tile, scoring, chunk.keys, m_new));
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      acc[i] = scale4(alpha, acc[i]);
    }
    accumulate_values<Variant>(a, tile, chunk.begin, chunk.keys, acc);
    if (!empty) {
      lse = scoring.lse(m_new, __fadd_rn(scoring.ratio(lse, m_new), sum));
    }
    m = m_new;
  }

  const bool empty = Variant::kGuardsEmpty && m == kMinusInf;
  const float norm = empty ? 1.0F : scoring.ratio(m, lse);
#pragma unroll
  for (int i = 0; i < kGroups; ++i) {
    acc[i] = scale4(norm, acc[i]);
  }
  store_row(a, tile, acc, lse);
}

template <class Variant>
void launch_attention_lse_running(const AttentionArgs& args, Stream stream) {
  launch_tiled(args, args.max_chunk, stream, [](auto groups) { return lse_running<Variant, decltype(groups)::value>; });
}

inline constexpr Arithmetic kLseRunningArithmetic = tiled_arithmetic(Reduction::lse_running, Ending::division_free);

std::span<const KernelDeclaration> attention_lse_running() {
  static const KernelDeclaration declarations[] = {
      declaration("attention.lse_running.published", kLseRunningArithmetic,
                  launch_attention_lse_running<AttentionPublished>, {.unsupported = published_refusal()}),
      declaration("attention.lse_running.hardened", kLseRunningArithmetic,
                  launch_attention_lse_running<AttentionHardened>, {.unsupported = hardened_refusal()}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
