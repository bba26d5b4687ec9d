// What a backward kernel declares about its arithmetic: one constexpr structure, next to ../arithmetic.h, whose parts and
// conventions it uses. What each field costs: README.md.
//
//   x̂ = scores;  P̂ = exp of x̂ − lse;  dP̂ = dO·v;  D̂ = dO·o;  t̂ = fl(dP̂ − D̂);  dŜ = fl(P̂·t̂), P̂ as it left the exponential
//   dq = τ Σ_j dŜ_ij k_j;  dk = τ Σ_i dŜ_ij q_i;  dv = Σ_i P̂_ij dO_i, P̂ and dŜ in their storage formats
//
// A kernel that has kept P = ê/l of its forward pass declares `accurate`, the division's error in exp_error (README.md, section 7).
#pragma once

#include <cstdint>

#include "reference/bound/declare/arithmetic.h"
#include "reference/problem/formats.h"

namespace flashproof {

/// Where τ enters: output: fl(τ·sum) at the end.  weights: fl(τ·dŜ) before dŜ is stored.
enum class GradientScale : std::uint8_t { output, weights };

/// D_i. output: Σ_c dO_ic o_ic, o as the forward pass stored it.  weights: Σ_j fl(P̂_ij·dP̂_ij) over the keys, as the
/// derivative of a softmax has it, P̂ as it makes dŜ; only where lse and o are those of a forward pass (gradient mode).
enum class DeltaSum : std::uint8_t { output, weights };

/// A sum over keys or queries: blocks of `block` consecutive ones (0: all in one), each summed by `products`, the
/// blocks' sums added in f32 in any order (atomics, workers, a tree).
struct Accumulation {
  Products products = {.chains = 1};
  int block = 0;
  // dk and dv only. false: one sum over the queries of all heads of the group, head after head. true: a sum per query
  // head, τ included, rounded to `partial`, then added in f32 in any order.
  bool heads_apart = false;
  Format partial = Format::f32;
  // With heads_apart: the heads' queries may as well be one sum, it is not known which. The bound holds for both.
  bool heads_any = false;

  constexpr bool operator==(const Accumulation&) const = default;
};

struct BackwardArithmetic {
  // accurate: e^fl(x̂ − lse).  scaled_exp2: exp2(fl(fl(x̂ − lse)·fl(log2 e))).
  // fused: exp2(fma(x̂, ĉ, −fl(lse·fl(log2 e)))).  unfused: exp2(fl(fl(x̂·ĉ) − fl(lse·fl(log2 e)))).
  // ĉ = fl(log2 e), or fl(τ log2 e) for raw scores (a problem without bias and ALiBi only).
  Exponent exponent = Exponent::accurate;
  ScoreUnit unit = ScoreUnit::natural;
  double exp_error = 0;     // as in Arithmetic; arguments up to 128, results above 1 too
  Products dot = {};        // q·k
  Products products = {};   // dO·v
  Products row_sum = {};    // D = dO·o
  Format p = Format::f32;   // P as it multiplies dO
  Format ds = Format::f32;  // dS as it multiplies k and q
  Accumulation dq = {}, dk = {}, dv = {};
  GradientScale scale = GradientScale::output;
  // With natural scores and scale `output`: q and k are both multiplied by fl(√|τ|) first, and rounded (PyTorch's math
  // path). x̂ has no other scale; dS multiplies these q and k, and the sums are multiplied by fl(√|τ|) once more.
  bool factors_scaled = false;
  bool stored_weights = false;  // dŜ from P̂ as it is stored in `p`, not as it left the exponential
  Format dp = Format::f32;      // dP̂ in whatever reads it
  DeltaSum delta = DeltaSum::output;
  bool apart = false;  // dŜ = fl(fl(P̂·dP̂) − fl(P̂·D̂)) in place of fl(P̂·fl(dP̂ − D̂))
  Underflow underflow = Underflow::gradual;

  constexpr bool operator==(const BackwardArithmetic&) const = default;
};

}  // namespace flashproof
