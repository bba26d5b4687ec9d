// Un-normalised states (m_c, l_c, O_c) of an online softmax, joined two at a time: no logarithm between the joins.
//
//   computes   m' = max(m, m_c), l' = l e^{m−m'} + l_c e^{m_c−m'}, O alike; o = O/l, lse = m + ln l
//   shapes     o_in (n, rows, dv) holds O, lse_in (n, rows) m, l_in (n, rows) l, none: all 1; n <= 4096; o (rows, dv), or
//              (rows, n·dv) with block c at columns c·dv; lse (rows)
//   launch     grid = groups of rows; block = 128; a thread per row makes the factors, then 16 bytes a thread
//   edges      reference semantics; a sum of weights beyond the f32 range makes its row NaN; a state with m = −inf or l = 0 is the identity, whatever its O holds; its m raises no
//              maximum
//   arithmetic f32. Two products and a sum per l and per element of O, one division at the end; no |lse| in the error
//   source     beyond the seeds; FlashInfer's state_t (attention/state.cuh) is of this form
//   chosen     all of it: the fold from left to right, accurate exponential and logarithm, a division instead of 1/l
#pragma once

#include "kernels/declaration.h"
#include "kernels/merge/fold.h"
#include "kernels/merge/forms.h"

namespace flashproof::FP_EXECUTOR {

struct MaxSum : MergeHardened {
  static constexpr bool kSums = true;

  __device__ static Joined join(const Node& a, const Node& b) {
    const float frame = max_nan(a.frame, b.frame);
    const float keep = math_exp(__fsub_rn(a.frame, frame));
    const float add = math_exp(__fsub_rn(b.frame, frame));
    const float l = __fadd_rn(__fmul_rn(keep, a.l), __fmul_rn(add, b.l));
    // Beyond the range O/∞ would be 0, silently wrong: NaN then, as in read_node().
    return {keep, add, {__fadd_rn(frame, __fsub_rn(l, l)), l}};
  }
  __device__ static float scaled(float value, float weight) { return __fmul_rn(weight, value); }
};

constexpr Arithmetic max_sum_arithmetic(Reduction reduction) {
  return merge_arithmetic(reduction, MergeWeights::max_sum);
}

}  // namespace flashproof::FP_EXECUTOR
