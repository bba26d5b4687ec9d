// The gradient of attention by one loop over the keys: a block owns the dk and dv of its keys, and every block adds what
// its keys give to dq with atomics, in whatever order the blocks arrive.
//
//   computes   as attention_backward/two_kernels.h
//   shapes     the same
//   launch     three: D and zeros for dq, block 128, 16 rows each; the loop, grid = (⌈Sk/16⌉, Hk, B), block 128; dq
//              times τ into its format, block 128, 16 rows each. Workspace: D and an f32 dq, 4(1 + d) bytes a query row
//   edges      the same; dq of a row that no key reaches is the zero that was stored first
//   arithmetic f32. dk, dv: one fma chain over the group's heads and their queries in order. dq: one fma chain over the
//              16 keys of a block, the blocks' sums added to an f32 array by atomicAdd in any order; τ multiplies the
//              finished sums. e^x of s − lse. Those atomics flush subnormal sums to zero on a GPU (not on the CPU
//              executor), so the declaration flushes everywhere
//   source     Dao 2023 (FlashAttention-2), Algorithm 2 and section 3.2: dQ is updated by atomic adds between the
//              thread blocks of the key loop
//   chosen     the source fixes the loop and the atomics; left open and chosen here: tiles of 16 by 16, a block's share
//              is summed before it is added

#include "kernels/attention_backward/row_sums.h"
#include "kernels/attention_backward/tile.h"
#include "kernels/attention_backward/tile_launch.h"
#include "kernels/run/workspace.h"

namespace flashproof::FP_EXECUTOR {

namespace backward {

/// Adds the tile's Σ_j dS_ij k_j to the row of dq of this thread's query, if any pair counts.
template <int kGroups>
__device__ inline void add_to_queries(const AttentionArgs& a, const Pairs& pairs, float* dq_sum, std::int64_t row) {
  float4 part[kGroups] = {};
  bool any = false;
  for (int j = 0; j < kTile; ++j) {
    const int at = thread_row() * kPairPitch + j;
    if (pairs.p[at] != kHidden) {
      any = true;
      add_product(part, pairs.ds[at], pairs.k + j * pairs.ld_d, a.head_dim);
    }
  }
  if (!any) {
    return;
  }
#pragma unroll
  for (int i = 0; i < kGroups; ++i) {
    const float value[4] = {part[i].x, part[i].y, part[i].z, part[i].w};
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const int column = 4 * thread_lane() + 4 * kRowLanes * i + c;
      if (column < a.head_dim) {
        atomicAdd(dq_sum + row * a.head_dim + column, value[c]);
      }
    }
  }
}

template <Format F, class Variant, int kGroups>
__global__ void all_gradients(BackwardArgs args, const float* delta, float* dq_sum) {
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
      if (first_query + thread_row() < a.q_length) {
        add_to_queries<kGroups>(a, pairs, dq_sum, query_row(a, b, h, first_query + thread_row()));
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

template <Format F>
__global__ void finish_queries(BackwardArgs args, const float* dq_sum) {
  const AttentionArgs& a = args.forward;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kTile + thread_row();
  if (row >= static_cast<std::int64_t>(a.batch) * a.q_heads * a.q_length) {
    return;
  }
  for (int c = thread_lane(); c < a.head_dim; c += kRowLanes) {
    store<F>(args.dq, row * a.head_dim + c, __fmul_rn(a.scale, dq_sum[row * a.head_dim + c]));
  }
}

inline std::int64_t atomic_dq_workspace(const Problem& problem) {
  const auto& p = std::get<BackwardProblem>(problem);
  return p.query_rows() * (1 + p.forward.head_dim()) * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace backward

template <class Variant>
void launch_backward_atomic_dq(const BackwardArgs& args, Stream stream) {
  const AttentionArgs& a = args.forward;
  const std::int64_t rows = static_cast<std::int64_t>(a.batch) * a.q_heads * a.q_length;
  require_workspace(args.workspace, rows * (1 + a.head_dim) * static_cast<std::int64_t>(sizeof(float)));
  auto* const delta = static_cast<float*>(args.workspace.data);
  float* const dq_sum = delta + rows;
  backward::dispatch_backward(a, [&]<Format F, int kGroups>() {
    backward::launch_row_sums<F>(args, delta, dq_sum, stream);
    launch(backward::all_gradients<F, Variant, kGroups>,
           dim3(backward::tiles_of(a.k_length), static_cast<unsigned>(a.k_heads), static_cast<unsigned>(a.batch)),
           dim3(kTileThreads), static_cast<std::size_t>(backward::shared_bytes(a.head_dim, a.value_dim)), stream, args,
           delta, dq_sum);
    launch(backward::finish_queries<F>, dim3(backward::tiles_of(rows)), dim3(kTileThreads), 0, stream, args, dq_sum);
  });
}

inline constexpr BackwardArithmetic kAtomicDqArithmetic = [] {
  BackwardArithmetic a = backward::kTileArithmetic;
  a.dq.block = backward::kTile;
  a.underflow =
      Underflow::flush;  // an f32 atomicAdd on global memory flushes on a GPU, whatever -ftz says (PTX ISA, atom)
  return a;
}();

std::span<const KernelDeclaration> attention_backward_atomic_dq() {
  static const KernelDeclaration declarations[] = {
      {.id = "attention_backward.atomic_dq.hardened",
       .problem = ProblemKind::backward,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true, .deterministic = false},
       .backward = kAtomicDqArithmetic,
       .unsupported = {backward::tile_unsupported, {Feature::window, Feature::alibi}},
       .launch = launch_backward_atomic_dq<backward::Accurate>,
       .workspace = backward::atomic_dq_workspace},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
