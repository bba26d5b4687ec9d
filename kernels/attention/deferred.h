// One pass over the keys in chunks of any size and order; the accumulator stays un-normalised until the end
// (FlashAttention-2).
//
//   computes   o[i] = Σ_j p_ij v_j, p_ij = exp(s_ij − lse_i), s_ij = scale · q_i·k_j + bias_ij; lse_i = m_i + ln l_i
//   shapes     q (B, Hq, Sq, d), k (B, Hk, Sk, d), v (B, Hk, Sk, dv), bias (B, Hq, Sq, Sk); o (B, Hq, Sq, dv);
//              lse (B, Hq, Sq); any strides on the inputs
//   launch     grid = (⌈Sq/16⌉, Hq, B); block = 128; see attention/tile.h. d, dv <= 256; a chunk and its tiles must
//              fit 227 KiB of shared memory; the chunk plan is an argument
//   edges      reference semantics, hidden keys are isolated; a score that overflows is NaN, never a lost key
//   arithmetic f32. m' = max(m, max s), α = e^{m−m'}, p = e^{s−m'}; per lane l = l·α + Σ p left to right, one
//              butterfly (3) at the end; acc = acc·α, then one fma chain over the keys; o = acc / l; exp accurate
//   source     Dao 2023 (FlashAttention-2), section 3.1; Milakov & Gimelshein 2018
//   chosen     safe exp of subtracted scores instead of the fused exponent fma(s·c − m·c)
#pragma once

#include <string>

#include "kernels/attention/tile.h"
#include "kernels/attention/unsupported.h"
#include "kernels/maximum.h"
#include "kernels/registry.h"
#include "kernels/simt/det_error.h"

namespace flashproof::FP_EXECUTOR {

template <Format F, class Variant, int kGroups>
__global__ void deferred(AttentionArgs a) {
  FP_DYNAMIC_SHARED(float, shared);
  const Tile tile(a, shared);
  load_queries<F>(a, tile);

  float m = kMinusInf;
  float l_lane = 0.0F;  // this lane's share of the sum
  float4 acc[kGroups] = {};
  for (int n = 0; n < a.chunks; ++n) {
    const int begin = a.boundary[a.order[n]];
    const int keys = min(a.boundary[a.order[n] + 1], tile.length) - begin;
    if (keys <= 0) {
      continue;  // beyond this batch's keys
    }
    __syncthreads();  // the previous chunk is used up
    load_chunk<F>(a, tile, begin, keys);
    __syncthreads();

    const float m_new = max_nan(m, chunk_scores<Variant>(a, tile, begin, keys));
    if (m_new == kMinusInf) {
      continue;  // still no key that counts for this row
    }
    const float alpha = math_exp(__fsub_rn(m, m_new));
    m = m_new;
    const float added = chunk_weights<Variant>(tile, keys, m);
    l_lane = __fadd_rn(__fmul_rn(l_lane, alpha), added);
    if (Variant::kRescalesAccumulator) {
#pragma unroll
      for (int i = 0; i < kGroups; ++i) {
        acc[i] = scale4(alpha, acc[i]);
      }
    }
    // p was written by the 8 lanes of the row; all of them are here, the rest of the warp may not be.
    __syncwarp(0xffU << (threadIdx.x % 32 / kRowLanes * kRowLanes));
    accumulate_values<Variant>(a, tile, keys, acc);
  }

  const float l = row_sum(l_lane);
  const bool empty = m == kMinusInf;
  if (!empty) {
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      acc[i] =
          make_float4(__fdiv_rn(acc[i].x, l), __fdiv_rn(acc[i].y, l), __fdiv_rn(acc[i].z, l), __fdiv_rn(acc[i].w, l));
    }
  }
  store_row<F>(a, tile, acc, empty ? kMinusInf : __fadd_rn(m, math_log(l)));
}

template <class Variant>
void launch_attention_deferred(const AttentionArgs& args, Stream stream) {
  dispatch_tile(args, [&]<Format F, int kGroups>() {
    launch(deferred<F, Variant, kGroups>, tile_grid(args), dim3(kTileThreads),
           static_cast<std::size_t>(tile_bytes(args.max_chunk, args.head_dim, args.value_dim)), stream, args);
  });
}

inline constexpr Arithmetic kDeferredArithmetic = {.reduction = Reduction::chunk_deferred,
                                                   .exp_error = kDetExpError,
                                                   .log_error = kDetLogError,
                                                   .lanes = kRowLanes,
                                                   .ending = Ending::divide};

}  // namespace flashproof::FP_EXECUTOR
