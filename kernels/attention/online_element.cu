// One pass over the keys, one key at a time in the order of the plan; the old output is rescaled by
// e^{−m'}·l / (l'·e^{−m}) with exponentials of their own.
//
//   computes   o[i] = Σ_j p_ij v_j, p_ij = exp(s_ij − lse_i), s_ij by attention/parts/scores.h; lse_i = m_i + ln l_i
//   shapes     q (B, Hq, Sq, d), k (B, Hk, Sk, d), v (B, Hk, Sk, dv), bias (B, Hq, Sq, Sk); o (B, Hq, Sq, dv);
//              lse (B, Hq, Sq); packed and paged forms; any strides on the inputs
//   launch     grid = (⌈Sq/16⌉, Hq, B); block = 128; see attention/parts/tile.h. d <= 576, dv <= 512; the scores of a chunk
//              and a tile must fit 227 KiB of shared memory; the chunk plan is an argument
//   edges      published: silently wrong from a maximum of some 95 on (e^{−m} is subnormal), NaN beyond 104 (0/0) and
//              below −88 (inf·0); leading hidden keys give −inf − (−inf) = NaN.
//              hardened: where e^{−m} or a product with it is no normal number the row is NaN (refuses_beyond_range); else
//              reference semantics, hidden keys are isolated; a score that overflows is NaN, never a lost key
//   arithmetic f32. Of key j m' = max(s, m), p = e^{s−m'}, l' = e^{m−m'}·l + p,
//              o' = (p/l')·v + (e^{−m'}·l)/(l'·e^{−m})·o; nothing is fused; exp accurate. The 8 lanes of a row all form
//              m and l
//   source     seed 003, "Online Attention Output", "Single-element Update", last formula
//   chosen     fixed by the seed: the formula, e^{−m} separated. Open there and chosen here: m = −inf, l = 0, o = 0 at the
//              start; max ignores NaN when published; the scores of a chunk of the plan are formed together

#include "kernels/attention/parts/tile_scores.h"
#include "kernels/attention/parts/unsupported.h"
#include "kernels/attention/separated.h"
#include "kernels/declaration.h"
#include "kernels/maximum.h"
#include "kernels/simt/det_math/det_error.h"

namespace flashproof::FP_EXECUTOR {

/// The recurrence of one row; o as in accumulate_values().
template <int kGroups>
struct ElementState {
  float m, l, e;
  float4 o[kGroups];

  __device__ explicit ElementState(float frame) : m(frame), l(sink_sum(frame)), e(math_exp(-frame)) {
    fill4(o, sink_output(frame));
  }

  /// The scores of the keys [begin, begin + keys) stand in p. The whole block takes part.
  template <class Variant>
  __device__ void visit(const AttentionArgs& a, const Tile& tile, const Scoring<Variant>& scoring, int begin,
                        int keys) {
    for (int from = 0; from < keys; from += tile.keys) {
      const int count = load_values(a, tile, begin, keys, from);
      for (int j = 0; j < count; ++j) {
        const float s = tile.p[from + j];
        if (Variant::kIsolatesHidden && s == kMinusInf) {
          continue;
        }
        add<Variant>(a, tile, scoring, s, tile.kv + j * tile.ld_v);
      }
    }
  }

  template <class Variant>
  __device__ void add(const AttentionArgs& a, const Tile& tile, const Scoring<Variant>& scoring, float s,
                      const float* v) {
    const float m_new = larger<Variant>(s, m);
    const float p = scoring.weight(s, m_new);
    const float l_new = __fadd_rn(__fmul_rn(scoring.ratio(m, m_new), l), p);
    const float e_new = math_exp(-m_new);
    const float kept = separated_ratio<Variant>(e_new, l, l_new, e);
    const float weight = __fdiv_rn(p, l_new);
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      const int column = 4 * tile.lane + 4 * kRowLanes * i;
      if (column < a.value_dim) {
        o[i] = add4(scale4(weight, load_f32x4(v + column)), scale4(kept, o[i]));
      }
    }
    m = Variant::kGuardsEmpty && det::is_nan(kept) ? kept : m_new;
    l = l_new;
    e = e_new;
  }
};

template <class Variant, int kGroups>
__global__ void online_element(AttentionArgs a, TileShape shape) {
  const Tile tile(a, shape);
  if (tile.idle()) return;
  const Scoring<Variant> scoring(a, tile.place);
  ElementState<kGroups> state(scoring.sink_frame(a, tile.place));
  for (int n = 0; n < a.chunks; ++n) {
    const Chunk<Variant> chunk(a, tile, n);
    if (chunk.skip) continue;
    chunk_scores<Variant>(a, tile, scoring, chunk.begin, chunk.keys);
    state.template visit<Variant>(a, tile, scoring, chunk.begin, chunk.keys);
  }

  const bool empty = Variant::kGuardsEmpty && state.m == kMinusInf;
  store_row(a, tile, state.o, empty ? kMinusInf : scoring.lse(state.m, state.l));
}

template <class Variant>
void launch_attention_online_element(const AttentionArgs& args, Stream stream) {
  launch_tiled(args, args.max_chunk, stream,
               [](auto groups) { return online_element<Variant, decltype(groups)::value>; });
}

inline constexpr Arithmetic kAttentionOnlineElementArithmetic = {.reduction = Reduction::chunk_normalized,
                                                                 .exp_error = kDetExpError,
                                                                 .log_error = kDetLogError,
                                                                 .tanh_error = kDetTanhError,
                                                                 .lanes = 1,
                                                                 .separated_exponent = true,
                                                                 .per_key = true,
                                                                 .ending = Ending::divide};

std::span<const KernelDeclaration> attention_online_element() {
  static const KernelDeclaration declarations[] = {
      declaration("attention.online_element.published", kAttentionOnlineElementArithmetic,
                  launch_attention_online_element<AttentionPublished>, {.unsupported = published_refusal()}),
      declaration("attention.online_element.hardened", kAttentionOnlineElementArithmetic,
                  launch_attention_online_element<AttentionHardened>,
                  {.unsupported = hardened_refusal(), .refuses_beyond_range = true}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
