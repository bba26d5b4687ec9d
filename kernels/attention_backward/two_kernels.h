// The gradient of attention by two loops that write nothing together: dq from a block of queries over all keys, dk and
// dv from a block of keys over all queries of the group's heads. Every sum has one owner and one order.
//
//   computes   dq_i = τ Σ_j dS_ij k_j, dk_j = τ Σ_i dS_ij q_i, dv_j = Σ_i P_ij dO_i; P_ij = e^{s_ij − lse_i},
//              dS_ij = P_ij (dO_i·v_j − D_i), D_i = dO_i·o_i; s_ij = τ q_i·k_j + bias_ij − slope·|i + Sk − Sq − j|
//   shapes     q (B, Hq, Sq, d), k (B, Hk, Sk, d), v (B, Hk, Sk, dv), dO and o (B, Hq, Sq, dv), lse (B, Hq, Sq);
//              dq, dk, dv as q, k, v; any strides on the inputs; d, dv <= 256; o may have another format
//   launch     three: D, block 128, 16 rows each; dq, grid = (⌈Sq/16⌉, Hq, B), block 128; dk and dv,
//              grid = (⌈Sk/16⌉, Hk, B), block 128. Workspace: D, 4 bytes a query row
//   edges      hidden pairs are skipped, their storage is not read; a row without a visible key contributes nothing,
//              whatever its lse, o and dO hold; a score that overflows is NaN, never a lost key
//   arithmetic f32. dq: one fma chain over the keys in order; dk, dv: one over the group's heads, and in each the
//              queries, in order; τ multiplies the finished sum. Accurate: e^x of s − lse. Fused:
//              exp2(fma(q·k, τ log2 e, −lse·log2 e)), P and dS rounded to the storage format
//   source     Dao 2023 (FlashAttention-2), Algorithm 2: D = rowsum(dO ∘ O), P from the lse, the five products
//   chosen     the source fixes the formulas and the loop over key blocks with the query blocks inside; left open and
//              chosen here: tiles of 16 by 16, dq in a loop of its own (the source adds it up in HBM), chains in order
#pragma once

#include "kernels/attention_backward/row_sums.h"
#include "kernels/attention_backward/tile.h"
#include "kernels/attention_backward/tile_launch.h"
#include "kernels/run/workspace.h"

namespace flashproof::FP_EXECUTOR {

namespace backward {

template <Format F, class Variant, int kGroups>
__global__ void query_gradients(BackwardArgs args, const float* delta) {
  FP_DYNAMIC_SHARED(float, shared);
  const AttentionArgs& a = args.forward;
  const Pairs pairs(a, shared);
  const int b = static_cast<int>(blockIdx.z);
  const int h = static_cast<int>(blockIdx.y);
  const int kv_head = static_cast<int>(static_cast<std::int64_t>(h) * a.k_heads / a.q_heads);
  const int first_query = static_cast<int>(blockIdx.x) * kTile;
  load_query_tile<F>(args, delta, pairs, b, h, first_query);

  float4 dq[kGroups] = {};
  for (int first_key = 0; first_key < keys_of(a, b); first_key += kTile) {
    __syncthreads();  // the previous keys are used up
    load_key_tile<F>(a, pairs, b, kv_head, first_key);
    __syncthreads();
    compute_pairs<F, Variant>(a, pairs, b, h, first_query, first_key);
    __syncthreads();
    for (int j = 0; j < kTile; ++j) {
      const int at = thread_row() * kPairPitch + j;
      if (pairs.p[at] != kHidden) {
        add_product(dq, pairs.ds[at], pairs.k + j * pairs.ld_d, a.head_dim);
      }
    }
  }
  const int query = first_query + thread_row();
  if (query < a.q_length) {
    store_gradient<F, true>(args.dq, query_row(a, b, h, query), a.head_dim, dq, a.scale);
  }
}

template <Format F, class Variant, int kGroups>
__global__ void key_gradients(BackwardArgs args, const float* delta) {
  FP_DYNAMIC_SHARED(float, shared);
  const AttentionArgs& a = args.forward;
  const Pairs pairs(a, shared);
  const int b = static_cast<int>(blockIdx.z);
  const int kv_head = static_cast<int>(blockIdx.y);
  const int group = a.q_heads / a.k_heads;
  const int first_key = static_cast<int>(blockIdx.x) * kTile;
  load_key_tile<F>(a, pairs, b, kv_head, first_key);

  float4 dk[kGroups] = {};
  float4 dv[kGroups] = {};
  for (int h = kv_head * group; h < (kv_head + 1) * group; ++h) {
    for (int first_query = 0; first_query < a.q_length; first_query += kTile) {
      __syncthreads();  // the previous queries are used up
      load_query_tile<F>(args, delta, pairs, b, h, first_query);
      __syncthreads();
      compute_pairs<F, Variant>(a, pairs, b, h, first_query, first_key);
      __syncthreads();
      for (int r = 0; r < kTile; ++r) {
        const int at = r * kPairPitch + thread_row();
        if (pairs.p[at] != kHidden) {
          add_product(dk, pairs.ds[at], pairs.q + r * pairs.ld_d, a.head_dim);
          add_product(dv, pairs.p[at], pairs.d_out + r * pairs.ld_v, a.value_dim);
        }
      }
    }
  }
  const int key = first_key + thread_row();
  if (key < a.k_length) {
    const std::int64_t row = (static_cast<std::int64_t>(b) * a.k_heads + kv_head) * a.k_length + key;
    store_gradient<F, true>(args.dk, row, a.head_dim, dk, a.scale);
    store_gradient<F, false>(args.dv, row, a.value_dim, dv, 1.0F);
  }
}

inline std::int64_t two_kernels_workspace(const Problem& problem) {
  return std::get<BackwardProblem>(problem).query_rows() * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace backward

template <class Variant>
void launch_backward_two_kernels(const BackwardArgs& args, Stream stream) {
  const AttentionArgs& a = args.forward;
  const std::int64_t rows = static_cast<std::int64_t>(a.batch) * a.q_heads * a.q_length;
  require_workspace(args.workspace, rows * static_cast<std::int64_t>(sizeof(float)));
  auto* const delta = static_cast<float*>(args.workspace.data);
  const auto bytes = static_cast<std::size_t>(backward::shared_bytes(a.head_dim, a.value_dim));
  const auto batch = static_cast<unsigned>(a.batch);
  backward::dispatch_backward(a, [&]<Format F, int kGroups>() {
    backward::launch_row_sums<F>(args, delta, nullptr, stream);
    launch(backward::query_gradients<F, Variant, kGroups>,
           dim3(backward::tiles_of(a.q_length), static_cast<unsigned>(a.q_heads), batch), dim3(kTileThreads), bytes,
           stream, args, delta);
    launch(backward::key_gradients<F, Variant, kGroups>,
           dim3(backward::tiles_of(a.k_length), static_cast<unsigned>(a.k_heads), batch), dim3(kTileThreads), bytes,
           stream, args, delta);
  });
}

}  // namespace flashproof::FP_EXECUTOR
