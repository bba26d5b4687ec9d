// Attention states (o_c, lse_c) merged two at a time with both weights from one exponential that cannot overflow.
//
//   computes   λ' = ln(e^λ + e^λc); sum: o' = e^{λ−λ'} o + e^{λc−λ'} o_c; concat: every block times e^{lse_c − λ}
//   shapes     o_in (n, rows, dv), lse_in (n, rows), n <= 4096; o (rows, dv), or (rows, n·dv) with block c at columns
//              c·dv; lse (rows)
//   launch     grid = groups of rows; block = 128; a thread per row makes the factors, then 16 bytes a thread
//   edges      reference semantics; an empty state is the identity whatever its o holds
//   arithmetic f32. e = e^{−|λ−λc|}, weights 1/(1+e) and e/(1+e), max + ln(1+e); two products and a sum per element
//   source     seed 002, section "Practical Implementation" (its formula in sigmoid and softplus form); not printed there
//   chosen     all of it: the fold from left to right, quotients for the weights, accurate exponential and logarithm; of
//              equal lse the left one counts as the smaller
#pragma once

#include "kernels/declaration.h"
#include "kernels/merge/fold.h"
#include "kernels/merge/forms.h"

namespace flashproof::FP_EXECUTOR {

struct Stable : MergeHardened {
  static constexpr bool kSums = false;

  __device__ static Joined join(const Node& a, const Node& b) {
    const bool a_larger = a.frame > b.frame;
    const float larger = max_nan(a.frame, b.frame);
    const float e = math_exp(__fsub_rn(a_larger ? b.frame : a.frame, larger));
    const float sum = __fadd_rn(1.0F, e);
    const float w_larger = __fdiv_rn(1.0F, sum);
    const float w_smaller = __fdiv_rn(e, sum);
    return {a_larger ? w_larger : w_smaller, a_larger ? w_smaller : w_larger, {__fadd_rn(larger, math_log(sum)), 1.0F}};
  }
  __device__ static float scaled(float value, float weight) { return __fmul_rn(weight, value); }
};

constexpr Arithmetic stable_arithmetic(Reduction reduction) {
  return merge_arithmetic(reduction, MergeWeights::stable);
}

}  // namespace flashproof::FP_EXECUTOR
