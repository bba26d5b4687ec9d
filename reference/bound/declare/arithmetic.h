// What a kernel declares about its own arithmetic: one constexpr structure. The bound is computed from it and the case,
// never from the code; reference/model runs it, operation by operation. What each field costs: README.md.
//
// Scalar operations are f32, rounded to nearest even, unless a field says otherwise. Members keep their defaults where
// the kernel has no such step.
#pragma once

#include <cstdint>

#include "reference/problem/formats.h"

namespace flashproof {

/// The shape of the reduction: which states exist, in which order they are combined.
enum class Reduction : std::uint8_t {
  // softmax
  strided_online,  // lane t streams columns t, t+lanes, ... online; then a binary tree over the lanes
  chunked_online,  // per chunk lane sums, butterfly in a warp, left fold over warps; running (m, d)
  chunked_local,   // per chunk its own m̃ and d̃ as in two_pass; joined to the running state: m' = max(m, m̃),
                   // d = fl(fl(d·e^{m−m'}) + fl(d̃·e^{m̃−m'}))
  two_pass,        // the row's maximum first; lane sums, butterfly in a warp, left fold over warps; nothing rescaled
  chunk_states,    // every chunk on its own, (m, d) each as in two_pass and y = ended e^{x − m}; then one flat
                   // combination of the states, by merge_weights: max_sum (m, d), y·d·w ended with Σ d w; shifted or
                   // unshifted (y, lse), y·w ended with Σ w
  unshifted,       // no maximum: Σ e^x as in two_pass, in the frame 0; lse = log of it
  // merge
  pairwise_fold,  // states joined left to right, two at a time, each result normalised
  pairwise_tree,  // the same by the problem's joins (none: a balanced tree over the visiting order)
  flat,           // one maximum over all states, one weighted sum, one division
  // attention
  chunk_normalized,  // per-chunk frame and sum, output normalised after every chunk (FlashAttention-1)
  chunk_deferred,    // running frame, un-normalised accumulator, one division at the end (FlashAttention-2)
  row_resident,      // the row's maximum first, P = e^{s−m} / l stored, then one sum of p·v (three stages)
  chunk_recap,       // chunks normalised on their own, joined as (C, L, O), normalised again (seed 000, "Recap")
  lse_running,  // the running lse is the frame's floor; un-normalised accumulator, no division (seed 000's new formula)
  // any problem
  any,  // one of several that the declaration does not name: alternatives() has the list. A bound holds for each of them
};

/// The order in which the chunks of a row are visited.
///
/// plan: the plan's own. ascending, descending: by position. any: whatever order, the same for no two rows, and neighbouring
/// blocks may be one chunk: what is declared holds for every order of every plan whose boundaries are multiples of `block`.
enum class BlockOrder : std::uint8_t { plan, ascending, descending, any };

// The attention reductions chunk by chunk, in visiting order, one rounding per operation; a chunk without a visible key is
// passed over. Start: m = −inf, l = 0, o = 0, or from the sink m = sink, l = 1 (lse = sink). Σ over lanes: every lane adds its
// keys' weights in order, beginning with 0, then a butterfly over the lanes. Σ P v: Products, beginning with 0 unless said
// otherwise. "ended with l": N/l or N·fl(1/l), by Ending. E(a − b): a weight or a ratio as Exponent makes it (ratio: the
// difference first, in every form); E of a frame minus itself is 1.
//
// chunk_normalized  m̃ = max s; p_j = E(s_j − m̃); l̃ = Σ over lanes of p; pv = Σ P v. m' = max(m, m̃);
//                   a = fl(l·E(m − m')); β = E(m̃ − m'); l' = fl(a + fl(β·l̃)); o' = fl(fl(a·o) + fl(β·pv)) ended with l'
// separated_exponent (a form of it)
//                   m̃, p_j, l̃, m' and β as above; l' = fl(fl(E(m − m')·l) + fl(β·l̃)); P_j = fl(p_j/l'); pv = Σ P v;
//                   g = fl(fl(e'·l) / fl(l'·e)), e = E(−m), e' = E(−m'), nothing subtracted (0 where l = 0); the value of
//                   e is that of e' in the chunk before; o' = fl(fl(g·o) + fl(β·pv)). The end: o, and lse of m, l.
// per_key           (of that) keys one by one in the order of visiting, hidden ones passed over: m' = max(m, s_j);
//                   p = E(s_j − m'); l' = fl(fl(E(m − m')·l) + p); o' = fl(fl(g·o) + fl(fl(p/l')·v_j)), g as above
// chunk_recap       C_i = max s; p_j = E(s_j − C_i); L_i = Σ over lanes of p; O_i = Σ P v, ended with L_i. C' = max(C_i, C);
//                   a = fl(L_i·E(C_i − C')); b = fl(L·E(C − C')); L' = fl(a + b);
//                   O' = fl(fl(a·O_i) + fl(b·O)) ended with L'. The first chunk too: O' = fl(a·O_i) ended with a
// lse_running       C' = max(max s, lse); p_j = E(s_j − C'); O' = Σ P v, beginning with fl(O·E(C − C')) (chain 0, or the
//                   unit's first c); L = fl(E(lse − C') + Σ over lanes of p); lse' = fl(C' + log L). The end:
//                   o = fl(O·E(C − lse)), and lse; Ending is division_free

/// What the running maximum is taken of, and how a weight is made of it. x̂ is a computed score in its unit (ScoreUnit),
/// f the frame (a maximum of such), ĉ = fl(unit · log2 e).
enum class Exponent : std::uint8_t {
  accurate,             // e^x of x = fl(x̂ − f), relative error exp_error
  scaled_exp2,          // exp2(fl(fl(x̂ − f) · fl(log2 e)))
  fused,                // exp2(fma(x̂, ĉ, −fl(f·ĉ)))          FlashAttention-2, -3, -4
  unfused,              // exp2(fl(fl(x̂·ĉ) − fl(f·ĉ)))        the same without contraction
  subtract_then_scale,  // exp2(fl(fl(x̂ − f) · ĉ))
                        // A running state is rescaled by the last form where the declared one is fused or unfused.
};

/// natural: x̂ is the score s itself. raw: x̂ is q·k before the scale (a bias is divided by it, softcap leaves tanh), and
/// the scale is folded into ĉ.
///
/// Score of a key, one rounding per operation, t̂ the computed q·k (fl(τt̂) is t̂ where the query is scaled before):
///   natural  fl(τt̂), then c·tanh(·/c) by three operations, then + bias, then − fl(slope·fl(distance))
///   raw      t̂, or tanh(fl(t̂·fl(τ/c))); then + fl(bias/unit), then − fl(fl(slope/unit)·fl(distance))
/// with unit = τ, or c under a softcap; raw needs τ > 0. With descale factors τ is τ̂ = fl(fl(scale·q_descale)·k_descale), formed
/// once per sequence and kv head, wherever the scale is used (natural and raw alike, q·τ̂ and ĉ = fl(τ̂·log2 e) too). The sink is fl(sink/unit). A sink is the state before the first
/// chunk: frame = sink, l = 1 in lane 0, o = 0; of a split: before the first chunk of part 0.
enum class ScoreUnit : std::uint8_t { natural, raw };

/// One step of a matrix unit: D = T_ofb(c ⊕ Σ_{k<K} a_k b_k). Products are exact and not normalised; every addend, c
/// too, is cut toward zero at 2^(e − F), e the largest exponent among them; the sum is exact; the result is cut toward
/// zero to `ofb` fraction bits. (MMA-Sim 2511.10909; Khattak & Mikaitis 2512.07004.)
///
/// The exponent of a product is the sum of those of its factors, that of a subnormal the least of its format: 2^e may
/// exceed the product by the leading zeros of both. Zeros have none; e is at least −133. Underflow does not apply: a unit
/// keeps subnormal inputs and results.
struct BlockFma {
  int k = 0;  // products per step; 0: no matrix unit
  int f = 0;
  int ofb = 23;
  constexpr bool operator==(const BlockFma&) const = default;
};
inline constexpr BlockFma kVoltaF16 = {.k = 4, .f = 23, .ofb = 23};
inline constexpr BlockFma kAmpereF16 = {.k = 8, .f = 24, .ofb = 23};  // f16 and bf16; k16 is two chained steps
inline constexpr BlockFma kAmpereTf32 = {.k = 4, .f = 24, .ofb = 23};
inline constexpr BlockFma kHopperF16 = {.k = 16, .f = 25, .ofb = 23};
inline constexpr BlockFma kHopperTf32 = {.k = 8, .f = 25, .ofb = 23};
// By the sources, not probed. On sm_90 mma.m16n8k32 of fp8 is no such step: two chained f16 steps from 0, then a rounded sum
// with c (bound/profiles, `c_last`); no BlockFma says that.
inline constexpr BlockFma kBlackwellFp8 = {.k = 32, .f = 25, .ofb = 23};
inline constexpr BlockFma kHopperWgmmaFp8 = {.k = 32, .f = 13, .ofb = 13};

/// A sum of products Σ a_k b_k: `chains` fma chains over columns c, c + chains, ..., then a binary tree over them
/// (neighbours first); or a matrix unit, step after step in order. A sum over keys counts them from the chunk's first
/// position, hidden ones included (as zeros), and goes on from the accumulator: chain 0, or the unit's first c, begins
/// with it; a promoted unit begins with 0 in every chunk and is added at its end too.
struct Products {
  int chains = 4;
  BlockFma unit = {};
  int promote = 0;  // unit: every so many products the accumulator is added to an f32 sum and restarts; 0: never
  bool tf32_inputs = false;  // both inputs cut to 10 fraction bits first
  constexpr bool operator==(const Products&) const = default;
};

/// P, the weights as they multiply v: rounded to `format` after multiplication by `scale`, saturating at its largest
/// finite value. summed: the denominator adds the rounded weights (without the scale) instead of the f32 ones. The sum
/// Σ P v is multiplied by 1/scale before the ending (chunk_normalized: when its chunk ends): exact where it is normal.
struct StoredWeights {
  Format format = Format::f32;
  double scale = 1;  // a power of two
  bool summed = false;
  constexpr bool operator==(const StoredWeights&) const = default;
};

/// lse = fl(m̂ + log l̂); fl(fl(m̂·scale) + log l̂), the frame raw (FlashAttention-2); fl(fl(fl(m̂·ĉ) + log2 l̂)·fl(ln 2))
/// (FlashAttention-4, Triton), whose bound holds of fl(fl(m̂·fl(ĉ·fl(ln 2))) + log l̂) (FlashAttention-3) and of
/// fl(fl(fl(m̂·ĉ)/fl(log2 e)) + log l̂) (xFormers), too.
enum class LseForm : std::uint8_t { max_plus_log, scaled_max_plus_log, base2 };

/// Weights of a combination. Pairwise: stable = e^{−|a−b|} and both weights from it; one_sided = 1/(1 + e^{b−a}) and
/// 1/(1 + e^{a−b}); running = e^{a−λ'} and e^{b−λ'} with λ' = a + ln(1 + e^{b−a}) (ring attention's update). Flat:
/// shifted = e^{λ_c−M} over their sum; unshifted = e^{λ_c} over their sum; division_free = e^{λ_c−λ̂}, no division.
/// max_sum: un-normalised (m, l, O).
enum class MergeWeights : std::uint8_t { stable, one_sided, running, shifted, unshifted, division_free, max_sum };

/// N/l, N·fl(1/l), N·e^{m−lse} with the computed lse and m as lse has it. For a combination N, l are Σ w o, Σ w. The
/// last for softmax: y = E(x − lse), one exponential and no product. With a v_descale the ended o is multiplied by it:
/// fl(o·v_descale), one rounding before that of the storage.
enum class Ending : std::uint8_t { divide, multiply_reciprocal, division_free };

/// Attention over several workers: the chunks in visiting order in `parts` runs of nearly equal count (part p has the
/// chunks [p·n/parts, (p+1)·n/parts)), then one combination of the parts' (o, lse) states – (m, l, O) for max_sum, m in
/// the unit of the scores, and partial_lse is for lse alone. A v_descale multiplies each part's o, or O, where the part ends
/// (FlashAttention-3), before it is rounded into partial_o; the combination does not know of it.
///
/// Combinations, by states in order, empty ones left out, all in f32; E(a − b) as Exponent makes a weight of x̂ = a and
/// f = b, natural unit (but parts under max_sum are rescaled as a running state is); unshifted, E(a) = e^a or
/// exp2(fl(a·fl(log2 e))):
///   flat      M = max; w_c = E(λ_c − M); W = Σ w_c left to right; N = one fma chain Σ w_c o_c; ending(N, W);
///             lse = fl(M + log W). unshifted: w_c = E(λ_c), lse = log W. division_free: w_c = E(λ_c − lse), N is the
///             result. max_sum: l and N are fma chains Σ w_c l_c and Σ w_c O_c
///   pairwise  two products and a sum per element; the weights of `stable` are 1/s and e/s (multiply_reciprocal: r and
///             e·r, r = fl(1/s)), those of one_sided divide the element; max_sum: fl(fl(α l_a) + fl(β l_b)), O alike, and
///             one ending at the root
struct Split {
  int parts = 1;
  Reduction combine = Reduction::flat;  // flat, pairwise_fold or pairwise_tree (balanced)
  MergeWeights weights = MergeWeights::shifted;
  Format partial_o = Format::f32;
  Format partial_lse = Format::f32;
  constexpr bool operator==(const Split&) const = default;
};

/// Absolute error of a subnormal result beside the relative ones: gradual underflow, or flushed to zero (inputs too). Of
/// every scalar operation, sums too: flushed inputs may be v, q and k themselves.
enum class Underflow : std::uint8_t { gradual, flush };

struct Arithmetic {
  Reduction reduction;
  Exponent exponent = Exponent::accurate;
  ScoreUnit unit = ScoreUnit::natural;
  double exp_error =
      0;  // of the exponential the form uses (e^x or exp2): relative, for normal results, arguments up to
          // 128; 1 at 0 exactly; <= 1 below 0; absolute exp_underflow() below the normal range; 0 at −inf
  double log_error = 0;         // relative to |ln x| (or |log2 x|); 0 at 1 exactly
  double log_absolute = 0;      // and absolute, in nats, beside it: hardware's lg2 near 1
  double reciprocal_error = 0;  // relative, of 1/x where the ending uses one; 0: rounded to nearest
  double tanh_error = 0;        // absolute, where a softcap is used
  int lanes = 0;  // partial sums of the denominator, a power of two: threads that share a row; 0: lanes_of(columns)
  int (*lanes_of)(std::int64_t columns) = nullptr;
  // Keys (columns) go to the lanes in runs of so many neighbours, a power of two: lane = position/deal mod lanes, positions
  // from the chunk's first. 1: one by one; 2: a quad's registers of an mma.
  int deal = 1;
  int warps = 0;         // softmax: butterflies over lanes/warps lanes each, folded left
  int vector_bytes = 0;  // softmax: `deal` is so many bytes of x, whatever its format; 0: as `deal` says
  // What is declared where it is not known which threads share a row: the lanes' sums may be joined by as many as so many
  // additions one after another (0: by the butterfly of `lanes`), and a library's Σ P v of row_resident likewise. Of a
  // chain alone the last key would pay for one addition, where in a tree every key pays for all levels. An allowance: the
  // model joins by its butterfly.
  int lane_joins = 0;
  // The chunks of attention and softmax. A kernel that does not follow the problem's plan says here what it visits: runs of so
  // many keys (columns), from position 0 on, the last one shorter; 0: the plan's chunks. Then the order of these.
  int block = 0;
  BlockOrder visits = BlockOrder::plan;
  Products dot = {};                // q·k
  Products values = {.chains = 1};  // Σ p v
  StoredWeights weights = {};       // P
  Format query = Format::f32;       // not f32: q·scale rounded to this format first (then the scores need no scale)
  bool query_scaled = false;        // q·scale is formed first, in f32 or in `query`
  int lazy_log2 = 0;                // the frame rises only where the maximum exceeds it by more than this many octaves:
                                    // fl(fl(max − f)·ĉ) > lazy_log2; lse has the frame for m̂
  bool separated_exponent =
      false;             // chunk_normalized: o rescaled by e^{−m'}·l / (l'·e^{−m}), exponentials of their own, and
                         // every weight divided by l' (seed 003). Natural scores, accurate or scaled_exp2
  bool per_key = false;  // separated_exponent: key by key, whatever the plan's chunks; its order alone counts
  bool running_lanes = false;  // chunk_deferred: a lane adds every key to its running sum, l = fl(l·α), then + p, + p
                               // (FlashAttention-2); false: l = fl(fl(l·α) + the lane's sum over the chunk)
  Split split = {};
  LseForm lse_form = LseForm::max_plus_log;
  Format lse_format = Format::f32;  // merges: what a joined lse is rounded to as the next join reads it; the weights of
                                    // the join that made it (running) take it before that
  MergeWeights merge_weights = MergeWeights::stable;
  Ending ending = Ending::divide;
  Underflow underflow = Underflow::gradual;
  constexpr bool operator==(const Arithmetic&) const = default;
};

/// The lane that adds the key at this position.
constexpr int lane_at(const Arithmetic& a, std::int64_t position, int lanes) {
  return static_cast<int>(position / a.deal % lanes);
}

/// Softmax: neighbouring columns of x in this format that go to a lane at a time.
constexpr std::int64_t deal(const Arithmetic& a, Format format) {
  const int bytes = bytes_of(format);
  return a.vector_bytes > bytes ? a.vector_bytes / bytes : a.deal;
}

/// What every declared exponential keeps where its result is subnormal.
constexpr double exp_underflow(const Arithmetic& a) { return a.underflow == Underflow::gradual ? 0x1p-149 : 0x1p-126; }
/// Largest absolute error of one rounded product, quotient or fma whose result is subnormal.
constexpr double product_underflow(const Arithmetic& a) {
  return a.underflow == Underflow::gradual ? 0x1p-150 : 0x1p-126;
}

}  // namespace flashproof
