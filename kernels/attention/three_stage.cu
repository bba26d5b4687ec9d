// Three stages over a row that is held whole: its maximum, its sum, its product with the values.
//
//   computes   o[i] = Σ_j p_ij v_j, p_ij = exp(s_ij − C_i) / L_i, s_ij by attention/parts/scores.h; lse_i = C_i + ln L_i
//   shapes     q (B, Hq, Sq, d), k (B, Hk, Sk, d), v (B, Hk, Sk, dv), bias (B, Hq, Sq, Sk); o (B, Hq, Sq, dv);
//              lse (B, Hq, Sq); packed and paged forms; any strides on the inputs
//   launch     grid = (⌈Sq/16⌉, Hq, B); block = 128; see attention/parts/tile.h. d <= 576, dv <= 512; the scores of a row
//              and a tile must fit 227 KiB of shared memory; a longer row is refused. The chunk plan is not used
//   edges      published: a row without a visible key gives −inf − (−inf) = NaN.
//              hardened: reference semantics, hidden keys are isolated; a score that overflows is NaN, never a lost key
//   arithmetic f32. C = max s, S̄ = e^{s−C}, L = Σ S̄ (8 lane sums over the row, butterfly of 3), P = S̄ / L each on its
//              own, o = Σ P v as one fma chain over the keys by position; exp accurate
//   source     seed 000 (figure 1 and equations 1 to 4)
//   chosen     fixed by the seed: the operations and that P is divided before it meets V. Open there and chosen here:
//              the sums' order; max ignores NaN when published; the row is held on chip, not in memory

#include "kernels/attention/parts/tile_scores.h"
#include "kernels/attention/parts/unsupported.h"
#include "kernels/declaration.h"
#include "kernels/maximum.h"

namespace flashproof::FP_EXECUTOR {

template <class Variant, int kGroups>
__global__ void three_stage(AttentionArgs a, TileShape shape) {
  const Tile tile(a, shape);
  if (tile.idle()) return;
  const Scoring<Variant> scoring(a, tile.place);
  const int keys = tile.place.length;
  const float sink = scoring.sink_frame(a, tile.place);
  const float m = larger<Variant>(chunk_scores<Variant>(a, tile, scoring, 0, keys), sink);
  const float of_sink = tile.lane == 0 && sink != kMinusInf ? scoring.weight(sink, m) : 0.0F;
  const float l = row_sum(chunk_weights<Variant>(tile, scoring, keys, m, of_sink));
  divide_weights<Variant>(tile, keys, l);
  float4 o[kGroups];
  fill4(o, sink_output(sink));
  accumulate_values<Variant>(a, tile, 0, keys, o);

  const bool empty = Variant::kGuardsEmpty && m == kMinusInf;
  store_row(a, tile, o, empty ? kMinusInf : scoring.lse(m, l));
}

template <class Variant>
void launch_attention_three_stage(const AttentionArgs& args, Stream stream) {
  launch_tiled(args, args.k_length, stream, [](auto groups) { return three_stage<Variant, decltype(groups)::value>; });
}

inline constexpr Arithmetic kThreeStageArithmetic = tiled_arithmetic(Reduction::row_resident, Ending::divide);

std::span<const KernelDeclaration> attention_three_stage() {
  static const KernelDeclaration declarations[] = {
      declaration("attention.three_stage.published", kThreeStageArithmetic,
                  launch_attention_three_stage<AttentionPublished>,
                  {.unsupported = published_refusal(resident_unsupported)}),
      declaration("attention.three_stage.hardened", kThreeStageArithmetic,
                  launch_attention_three_stage<AttentionHardened>,
                  {.unsupported = hardened_refusal(resident_unsupported)}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
