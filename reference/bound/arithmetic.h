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
  two_pass,        // the row's maximum first; lane sums, butterfly in a warp, left fold over warps; nothing rescaled
  chunk_states,    // every chunk on its own, (m, d) each as in two_pass; then one flat combination of the states
  // merge
  pairwise_fold,  // states joined left to right, two at a time, each result normalised
  pairwise_tree,  // the same by the problem's joins (none: a balanced tree over the visiting order)
  flat,           // one maximum over all states, one weighted sum, one division
  // attention
  chunk_normalized,  // per-chunk frame and sum, output normalised after every chunk (FlashAttention-1)
  chunk_deferred,    // running frame, un-normalised accumulator, one division at the end (FlashAttention-2)
  row_resident,      // the row's maximum first, P = e^{s−m} / l stored, then one sum of p·v (three stages)
};

/// What the running maximum is taken of, and how a weight is made of it. x̂ is a computed score in its unit (ScoreUnit),
/// f the frame (a maximum of such), ĉ = fl(unit · log2 e).
enum class Exponent : std::uint8_t {
  accurate,             // e^x of x = fl(x̂ − f), relative error exp_error
  scaled_exp2,          // exp2(fl(fl(x̂ − f) · fl(log2 e)))
  fused,                // exp2(fma(x̂, ĉ, −fl(f·ĉ)))          FlashAttention-2, -3, -4
  unfused,              // exp2(fl(fl(x̂·ĉ) − fl(f·ĉ)))        the same without contraction
  subtract_then_scale,  // exp2(fl(fl(x̂ − f) · ĉ))
};

/// natural: x̂ is the score s itself. raw: x̂ is q·k before the scale (a bias is divided by it, softcap leaves tanh), and
/// the scale is folded into ĉ.
enum class ScoreUnit : std::uint8_t { natural, raw };

/// One step of a matrix unit: D = T_ofb(c ⊕ Σ_{k<K} a_k b_k). Products are exact and not normalised; every addend, c
/// too, is cut toward zero at 2^(e − F), e the largest exponent among them; the sum is exact; the result is cut toward
/// zero to `ofb` fraction bits. (MMA-Sim 2511.10909; Khattak & Mikaitis 2512.07004.)
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
inline constexpr BlockFma kHopperMmaFp8 = {.k = 32, .f = 25, .ofb = 23};
inline constexpr BlockFma kHopperWgmmaFp8 = {.k = 32, .f = 13, .ofb = 13};

/// A sum of products Σ a_k b_k: `chains` fma chains over columns c, c + chains, ..., then a binary tree over them; or a
/// matrix unit, step after step in order.
struct Products {
  int chains = 4;
  BlockFma unit = {};
  int promote = 0;  // unit: every so many products the accumulator is added to an f32 sum and restarts; 0: never
  bool tf32_inputs = false;  // both inputs cut to 10 fraction bits first
};

/// P, the weights as they multiply v: rounded to `format` after multiplication by `scale`, saturating at its largest
/// finite value. summed: the denominator adds the rounded weights instead of the f32 ones.
struct StoredWeights {
  Format format = Format::f32;
  double scale = 1;  // a power of two
  bool summed = false;
};

/// lse = fl(m̂ + log l̂); fl(fl(m̂·scale) + log l̂), the frame raw (FlashAttention-2); fl(fl(fl(m̂·ĉ) + log2 l̂)·fl(ln 2))
/// (FlashAttention-3).
enum class LseForm : std::uint8_t { max_plus_log, scaled_max_plus_log, base2 };

/// Weights of a combination. Pairwise: stable = e^{−|a−b|} and both weights from it; one_sided = 1/(1 + e^{b−a}) and
/// 1/(1 + e^{a−b}); running = e^{a−λ'} and e^{b−λ'} with λ' = a + ln(1 + e^{b−a}) (ring attention's update). Flat:
/// shifted = e^{λ_c−M} over their sum; division_free = e^{λ_c−λ̂}, no division. max_sum: un-normalised (m, l, O).
enum class MergeWeights : std::uint8_t { stable, one_sided, running, shifted, division_free, max_sum };

enum class Ending : std::uint8_t { divide, multiply_reciprocal, division_free };  // the last: times e^{m−lse}

/// Attention over several workers: the chunks in visiting order in `parts` runs of nearly equal count (part p has the
/// chunks [p·n/parts, (p+1)·n/parts)), then one combination of the parts' (o, lse) states – (m, l, O) for max_sum.
struct Split {
  int parts = 1;
  Reduction combine = Reduction::flat;  // flat, pairwise_fold or pairwise_tree (balanced)
  MergeWeights weights = MergeWeights::shifted;
  Format partial_o = Format::f32;
  Format partial_lse = Format::f32;
};

/// Absolute error of a subnormal result beside the relative ones: gradual underflow, or flushed to zero (inputs too).
enum class Underflow : std::uint8_t { gradual, flush };

struct Arithmetic {
  Reduction reduction;
  Exponent exponent = Exponent::accurate;
  ScoreUnit unit = ScoreUnit::natural;
  double exp_error =
      0;  // of the exponential the form uses (e^x or exp2): relative, for normal results, arguments up to
          // 128; 1 at 0 exactly; <= 1 below 0; absolute exp_underflow() below the normal range
  double log_error = 0;         // relative to |ln x| (or |log2 x|); 0 at 1 exactly
  double log_absolute = 0;      // and absolute, in nats, beside it: hardware's lg2 near 1
  double reciprocal_error = 0;  // relative, of 1/x where the ending uses one; 0: rounded to nearest
  double tanh_error = 0;        // absolute, where a softcap is used
  int lanes = 0;  // partial sums of the denominator, a power of two: threads that share a row; 0: lanes_of(columns)
  int (*lanes_of)(std::int64_t columns) = nullptr;
  int warps = 0;                    // softmax: butterflies over lanes/warps lanes each, folded left
  Products dot = {};                // q·k
  Products values = {.chains = 1};  // Σ p v
  StoredWeights weights = {};       // P
  Format query = Format::f32;       // not f32: q·scale rounded to this format first (then the scores need no scale)
  bool query_scaled = false;        // q·scale is formed first, in f32 or in `query`
  int lazy_log2 = 0;                // the frame rises only where the maximum exceeds it by more than this many octaves
  Split split = {};
  LseForm lse_form = LseForm::max_plus_log;
  Format lse_format = Format::f32;  // merges: what lse is rounded to between two joins
  MergeWeights merge_weights = MergeWeights::stable;
  Ending ending = Ending::divide;
  Underflow underflow = Underflow::gradual;
};

/// What every declared exponential keeps where its result is subnormal.
constexpr double exp_underflow(const Arithmetic& a) { return a.underflow == Underflow::gradual ? 0x1p-149 : 0x1p-126; }
/// Largest absolute error of one rounded product, quotient or fma whose result is subnormal.
constexpr double product_underflow(const Arithmetic& a) {
  return a.underflow == Underflow::gradual ? 0x1p-150 : 0x1p-126;
}

}  // namespace flashproof
