// Attention states (o_c, lse_c) merged all at once: what split-KV attention ends in.
//
//   computes   M = max λ_c, w_c = e^{λ_c − M}; sum: Σ w_c o_c / Σ w_c; concat: every block w_c o_c / Σ w_c;
//              lse = M + ln Σ w_c
//   shapes     o_in (n, rows, dv), lse_in (n, rows), n <= 4096; o (rows, dv), or (rows, n·dv) with block c at columns
//              c·dv; lse (rows)
//   launch     grid = groups of rows; block = 128; a thread per row makes the weights, once, then 16 bytes a thread with
//              up to 8 loads under way
//   edges      reference semantics; an empty state counts nowhere, whatever its o holds
//   arithmetic f32. Σ w_c from left to right in the given order, Σ w_c o_c one chain of fma, one division per element
//   source     seed 002, section "Optimized Online Softmax", listing online_softmax2 (softmax.merge_lse_naive) with the
//              maximum subtracted; FlashAttention-3's and vLLM's combine kernels are of this form
//   chosen     all of it: order as given, accurate exponential and logarithm, a division instead of 1/Σ
#pragma once

#include "kernels/declaration.h"
#include "kernels/merge/flat.h"

namespace flashproof::FP_EXECUTOR {

inline constexpr Arithmetic kNwayArithmetic = merge_arithmetic(Reduction::flat, MergeWeights::shifted);

}  // namespace flashproof::FP_EXECUTOR
