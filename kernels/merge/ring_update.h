// Ring attention's update: each block that arrives moves lse, and both weights are taken against the new one.
//
//   computes   λ' = ln(e^λ + e^λc); o' = e^{λ−λ'} o + e^{λc−λ'} o_c
//   shapes     o_in (n, rows, dv), lse_in (n, rows), n <= 4096; o (rows, dv), hardened also (rows, n·dv) with block c at
//              columns c·dv; lse (rows)
//   launch     grid = groups of rows; block = 128; a thread per row makes the factors, then 16 bytes a thread
//   edges      published: e^{block_lse−lse} overflows beyond 88.7 (lse = inf), −inf beside −inf is NaN; sum only.
//              hardened: reference semantics, an empty state is the identity whatever its o holds; where
//              e^{block_lse−lse} overflows, λ' = block_lse: what the formula adds to it there is below 2^-127; both forms
//   arithmetic f32. λ' = λ + ln(1 + e^{λc−λ}), weights e^{λ−λ'} and e^{λc−λ'}, two products and a sum per element; no
//              division: the weights sum to 1 only as well as λ' is right, u·|λ| per hop
//   source     seed 002, section "Practical Implementation", listing _update_out_and_lse
//   chosen     fixed by the seed: the three formulas, block_out in f32, blocks in the order of arrival. Open there and
//              chosen here: the first block is the first state; accurate exponential and logarithm; no ties to break.
//              The order is an input: rotated for the ranks of a ring, interleaved for striped attention
#pragma once

#include "kernels/declaration.h"
#include "kernels/merge/fold.h"
#include "kernels/merge/forms.h"

namespace flashproof::FP_EXECUTOR {

template <class Variant>
struct Running : Variant {
  static constexpr bool kSums = false;

  __device__ static Joined join(const Node& a, const Node& b) {
    const float sum = __fadd_rn(1.0F, math_exp(__fsub_rn(b.frame, a.frame)));
    const bool overflowed = Variant::kGuardsEmpty && __float_as_int(sum) == det::kInfinity;
    const float lse = overflowed ? b.frame : __fadd_rn(a.frame, math_log(sum));
    return {math_exp(__fsub_rn(a.frame, lse)), math_exp(__fsub_rn(b.frame, lse)), {lse, 1.0F}};
  }
  __device__ static float scaled(float value, float weight) { return __fmul_rn(weight, value); }
};

template <class Variant>
std::string ring_update_unsupported(const Problem& problem) {
  if (!Variant::kGuardsEmpty && std::get<MergeProblem>(problem).form == MergeForm::concat) {
    return "form = concat: the published update sums, legal: sum";
  }
  return too_many_states(problem);
}

inline constexpr Arithmetic kRingUpdateArithmetic = merge_arithmetic(Reduction::pairwise_fold, MergeWeights::running);

}  // namespace flashproof::FP_EXECUTOR
