// What a kernel declares about its own arithmetic; the bound is computed from this and the case, never from the code.
#pragma once

#include <cstdint>

#include "reference/problem/formats.h"

namespace flashproof {

/// The shape of the reduction: which states exist, in which order they are combined. reference/bound/README.md has
/// the path counts of each.
enum class Reduction : std::uint8_t {
  strided_online,    // softmax: lane t streams columns t, t+lanes, ... online; then a binary tree over the lanes
  chunked_online,    // softmax: per chunk lane sums, butterfly in a warp, left fold over warps; running (m, d)
  pairwise_fold,     // merge: states folded left, two at a time, each result normalised
  chunk_normalized,  // attention: per-chunk frame and sum, output normalised after every chunk (FlashAttention-1)
  chunk_deferred,    // attention: running frame, un-normalised accumulator, one division at the end (FlashAttention-2)
};

/// How e^x is computed for x = fl(a − b). accurate: relative error exp_error. scaled_exp2: exp2(fl(x · fl(log2 e))),
/// which adds |x|·(u + |fl(log2 e)/log2 e − 1|) to the exponent.
enum class ExpForm : std::uint8_t { accurate, scaled_exp2 };

/// Pairwise merge: stable = e^{−|a−b|} and both weights from it; one_sided = 1/(1 + e^{b−a}) and 1/(1 + e^{a−b}).
enum class MergeWeights : std::uint8_t { stable, one_sided };

enum class Ending : std::uint8_t { divide, multiply_reciprocal };

/// What every declared exponential keeps where its result is subnormal.
inline constexpr double kExpUnderflowError = 0x1p-149;

struct Arithmetic {
  Reduction reduction;
  ExpForm exp_form = ExpForm::accurate;
  double exp_error = 0;  // relative, for normal results; exp(0) = 1 exactly; e^x <= 1 for x <= 0; absolute
                         // kExpUnderflowError below the normal range
  double log_error = 0;  // relative to |ln x|, for every x; ln(1) = 0 exactly
  int lanes = 0;  // partial sums of the denominator, a power of two: threads that share a row; 0: lanes_of(columns)
  int (*lanes_of)(std::int64_t columns) = nullptr;
  int warps = 0;       // chunked_online: butterflies over lanes/warps lanes each, folded left
  int dot_chains = 4;  // attention: independent fma chains of a dot product, then a binary tree over them
  MergeWeights merge_weights = MergeWeights::stable;
  Ending ending = Ending::divide;
};

}  // namespace flashproof
