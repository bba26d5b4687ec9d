// Attention states (o_c, lse_c) merged two at a time, folded left in any order, each weight by an exponential of its own.
//
//   computes   λ' = ln(e^λ + e^λc); concat: every block times e^{lse_c − λ}; sum: o' = e^{λ−λ'} o + e^{λc−λ'} o_c
//   shapes     o_in (n, rows, dv), lse_in (n, rows), n <= 4096; o (rows, dv), or (rows, n·dv) with block c at columns
//              c·dv; lse (rows)
//   launch     grid = groups of rows; block = 128; a thread per row makes the factors, then 16 bytes a thread
//   edges      published: e^{lse1−lse0} overflows beyond 88.7 (lse = inf), −inf beside −inf is NaN; concat only.
//              hardened: reference semantics, an empty state is the identity whatever its o holds; where e^{lse1−lse0}
//              overflows, lse = lse1: what the formula adds to lse1 there is below 2^-127; both forms
//   arithmetic f32. p0/(1 + e^{lse1−lse0}), p1/(1 + e^{lse0−lse1}), lse0 + ln(1 + e^{lse1−lse0}); sum: one addition
//   source     seed 002, section "Practical Implementation", listing online_softmax3
//   chosen     fixed by the seed: the formulas, the fold from the first block on, concat. Open there and chosen here:
//              f32 between the hops; accurate exponential and logarithm; a block keeps its own columns when the order is
//              not 0..n−1 (the listing appends in visiting order); no ties to break
#pragma once

#include "kernels/declaration.h"
#include "kernels/merge/fold.h"
#include "kernels/merge/forms.h"

namespace flashproof::FP_EXECUTOR {

template <class Variant>
struct OneSided : Variant {
  static constexpr bool kSums = false;

  __device__ static Joined join(const Node& a, const Node& b) {
    const float keep = __fadd_rn(1.0F, math_exp(__fsub_rn(b.frame, a.frame)));
    const float add = __fadd_rn(1.0F, math_exp(__fsub_rn(a.frame, b.frame)));
    const bool overflowed = Variant::kGuardsEmpty && __float_as_int(keep) == det::kInfinity;
    return {keep, add, {overflowed ? b.frame : __fadd_rn(a.frame, math_log(keep)), 1.0F}};
  }
  __device__ static float scaled(float value, float divisor) { return __fdiv_rn(value, divisor); }
};

template <class Variant>
std::string pairwise_naive_unsupported(const Problem& problem) {
  if (!Variant::kGuardsEmpty && std::get<MergeProblem>(problem).form == MergeForm::sum) {
    return "form = sum: the published formula concatenates, legal: concat";
  }
  return too_many_states(problem);
}

inline constexpr Arithmetic kPairwiseNaiveArithmetic =
    merge_arithmetic(Reduction::pairwise_fold, MergeWeights::one_sided);

}  // namespace flashproof::FP_EXECUTOR
