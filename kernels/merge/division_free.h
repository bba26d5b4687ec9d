// Attention states (o_c, lse_c) merged all at once, by weights that need no division.
//
//   computes   λ = M + ln Σ e^{λ_c − M}, M = max λ_c; sum: Σ e^{λ_c − λ} o_c; concat: every block e^{λ_c − λ} o_c
//   shapes     o_in (n, rows, dv), lse_in (n, rows), n <= 4096; o (rows, dv), or (rows, n·dv) with block c at columns
//              c·dv; lse (rows)
//   launch     grid = groups of rows; block = 128; a thread per row makes the weights, once, then 16 bytes a thread
//   edges      reference semantics; an empty state counts nowhere, whatever its o holds
//   arithmetic f32. Two exponentials per state; the weights sum to 1 only as well as λ is right: u·|λ| multiplies o
//   source     beyond the seeds (seed 000 has the softmax of this form); FlashAttention-2's combine kernel
//   chosen     all of it: Σ from left to right in the given order, one chain of fma, accurate exponential and logarithm
#pragma once

#include "kernels/declaration.h"
#include "kernels/merge/flat.h"

namespace flashproof::FP_EXECUTOR {

inline constexpr Arithmetic kDivisionFreeArithmetic = merge_arithmetic(Reduction::flat, MergeWeights::division_free);

}  // namespace flashproof::FP_EXECUTOR
