// FlashAttention-2 on tensor cores: mma.m16n8k16 for q·k and p·v, tiles by cp.async, weights as the unit's operands.
//
//   computes   o[i] = Σ_j p_ij v_j, p_ij = exp(s_ij − lse_i), s_ij = scale · q_i·k_j + bias_ij − slope·distance;
//              lse_i = m_i + ln l_i; a sink is one more key with v = 0
//   shapes     q (B, Hq, Sq, d), k (B, Hk, Sk, d), v (B, Hk, Sk, dv), bias (B, Hq, Sq, Sk); o (B, Hq, Sq, dv);
//              lse (B, Hq, Sq); Hq any multiple of Hk. Any strides: 16-byte aligned rows are copied by cp.async, others
//              element by element
//   launch     grid = (⌈Sq/64⌉, Hq, B), a block is a warp per 16 queries, at most 4; 1 <= d, dv <= 256, padded with zeros
//              to multiples of 16; scale > 0; causal, window, lengths; the chunk plan is an argument: chunks of one tile
//              (64 keys) or less are read once, longer ones twice, the first time for their maximum
//   edges      reference semantics, hidden keys are isolated (mma_values.h); a score that overflows is NaN, never a lost
//              key; a frame so large that a rounded product with it may take P out of its format makes the row NaN
//   arithmetic raw scores x̂ = q·k by chained steps of 16; m' = max(m, max x̂), α = exp2(fl((m − m')·ĉ)), ĉ = fl(scale·log₂e);
//              fused p = exp2(fma(x̂, ĉ, −fl(m'·ĉ))), subtract p = exp2(fl((x̂ − m')·ĉ)); P rounded to its format (times a
//              power of two); acc = acc·α, then steps of 16 keys; l per lane: keys 8n + 2t and 8n + 2t + 1, left to right
//              over the chunk, l = l·α + Σ; at the end a butterfly of 2, o = acc·(1/l), lse = fl(m·scale) + ln l
//   source     Dao 2023 (FlashAttention-2), section 3.1 and csrc/flash_attn/src/softmax.h (fused exponent); e4m3 P and its
//              scale 2^8: Shah et al. 2024 (FlashAttention-3), hopper/softmax.h (max_offset)
//   chosen     a chunk's sum before it joins l (FlashAttention-2 adds every weight to l); e4m3 weights multiply v on the
//              f16 unit, which holds every e4m3 number
#pragma once

#include <algorithm>
#include <numbers>
#include <string>

#include "kernels/attention/parts/mma_warp.h"
#include "kernels/refusal.h"
#include "kernels/registry.h"
#include "kernels/simt/det_math/det_error.h"

namespace flashproof::FP_EXECUTOR {

template <class Form, int kDim, bool kExact>
__global__ void __launch_bounds__(32 * kMmaWarps, 2)
    mma_attention(const FP_GRID_CONSTANT AttentionArgs a, const FP_GRID_CONSTANT MmaShape shape) {
  using Kernel = MmaKernel<Form, kDim, kExact>;
  FP_DYNAMIC_SHARED(std::uint16_t, shared);
  const int block_rows = kExact ? kMmaWarps * kMmaRows : static_cast<int>(blockDim.x) / 32 * kMmaRows;
  // Causal: later queries see more keys, so they go first.
  const int first = static_cast<int>(gridDim.x - 1 - blockIdx.x) * block_rows;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int length = a.key_length ? a.key_length[blockIdx.z] : a.k_length;
  const MmaRows rows(a, length, first + kMmaRows * warp);
  const Kernel kernel{a, shape, rows};
  const int from = KeyRange(a, length, first).first;
  const int to = KeyRange(a, length, min(first + block_rows, a.q_length) - 1).last;
  const bool shifted = a.bias != nullptr || a.alibi != nullptr;

  std::uint16_t* const q = shared;
  std::uint16_t* const k = q + block_rows * kernel.ld_d();
  std::uint16_t* const v = k + 2 * kMmaKeys * kernel.ld_d();
  const MmaSource q_source = mma_source(a.q, a.q_stride, rows.b, rows.h, shape.q_16);
  const MmaSource k_source = mma_source(a.k, a.k_stride, rows.b, rows.kv_head, shape.k_16);
  const MmaSource v_source = mma_source(a.v, a.v_stride, rows.b, rows.kv_head, shape.v_16);
  const auto start_loading = [&](const MmaCursor& next, int buffer) {
    std::uint16_t* const k_tile = k + buffer * kMmaKeys * kernel.ld_d();
    std::uint16_t* const v_tile = v + buffer * kMmaKeys * kernel.ld_v();
    if constexpr (kExact) {
      copy_rows<kDim, kMmaKeys, Kernel::kThreads>(k_tile, k_source, next.begin, next.keys());
      if (!next.only_maximum) copy_rows<kDim, kMmaKeys, Kernel::kThreads>(v_tile, v_source, next.begin, next.keys());
    } else {
      const int room = (next.keys() + kMmaGroup - 1) / kMmaGroup * kMmaGroup;
      load_rows(k_tile, shape.ld_d, k_source, next.begin, next.keys(), room, a.head_dim, shape.d);
      if (!next.only_maximum) {
        load_rows(v_tile, shape.ld_v, v_source, next.begin, next.keys(), room, a.value_dim, shape.dv);
      }
    }
    cp_async_commit();
  };

  MmaCursor cursor;
  bool more = cursor.advance(a, from, to);
  const int queries = min(block_rows, a.q_length - first);
  if constexpr (kExact) {
    copy_rows<kDim, kMmaWarps * kMmaRows, Kernel::kThreads>(q, q_source, first, queries);
  } else {
    load_rows(q, shape.ld_d, q_source, first, queries, block_rows, a.head_dim, shape.d);
  }
  if (more) start_loading(cursor, 0);
  cp_async_commit();  // of the queries, where there is no tile

  MmaState state = kernel.start();
  float acc[Kernel::kTiles][4] = {};
  std::uint32_t query[kExact ? Kernel::kSteps : 1][4];
  if constexpr (kExact) {
    cp_async_wait<0>();
    __syncthreads();
#pragma unroll
    for (int step = 0; step < Kernel::kSteps; ++step) query_fragment(query[step], q, kDim, kMmaRows * warp, step);
  }
  for (int buffer = 0; more; buffer ^= 1) {
    cp_async_wait<0>();
    __syncthreads();  // the tile is here, and the one before it used up
    MmaCursor next = cursor;
    more = next.advance(a, from, to);
    if (more) start_loading(next, buffer ^ 1);
    const std::uint16_t* const k_tile = k + buffer * kMmaKeys * kernel.ld_d();
    const std::uint16_t* const v_tile = v + buffer * kMmaKeys * kernel.ld_v();
    const int end = cursor.begin + kMmaKeys;
    if (cursor.begin >= rows.any_end || cursor.begin + cursor.keys() <= rows.any_begin) {
      kernel.hidden_tile(cursor, state, acc);
    } else if (kExact && !shifted && cursor.begin >= rows.all_begin && end <= rows.all_end && end <= cursor.stop) {
      kernel.template tile<kExact>(cursor, state, acc, query, q, k_tile, v_tile);
    } else {
      kernel.template tile<false>(cursor, state, acc, query, q, k_tile, v_tile);
    }
    cursor = next;
  }
  cp_async_wait<0>();
  kernel.finish(state, acc);
}

inline std::string mma_unsupported(const Problem& problem) {
  const auto& p = std::get<AttentionProblem>(problem);
  constexpr std::int64_t kGrid = 65535;
  if (p.head_dim() > kMmaMaxDim) return beyond_range("d", p.head_dim(), kMmaMaxDim);
  if (p.value_dim() > kMmaMaxDim) return beyond_range("dv", p.value_dim(), kMmaMaxDim);
  if (p.q_heads() > kGrid) return beyond_range("Hq", p.q_heads(), kGrid);
  if (p.batch() > kGrid) return beyond_range("B", p.batch(), kGrid);
  if (!(p.scale > 0))
    return "scale = " + std::to_string(p.scale) + ": legal range above 0 (it is folded into the exponent)";
  return {};
}

/// 16-byte copies of rows: everything but the last axis moves by whole pieces.
inline bool copies_by_16(const void* data, const std::int64_t (&stride)[4], int width) {
  bool whole = reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && stride[3] == 1 && width % kPiece == 0;
  for (int axis = 0; axis < 3; ++axis) whole = whole && stride[axis] % kPiece == 0;
  return whole;
}

template <class Form, int kDim, bool kExact>
void launch_mma(const AttentionArgs& args, const MmaShape& shape, Stream stream) {
  constexpr int kWarps = kMmaWarps;
  const int warps = kExact ? kWarps : std::clamp((args.q_length + kMmaRows - 1) / kMmaRows, 1, kWarps);
  const std::int64_t rows = static_cast<std::int64_t>(warps) * kMmaRows;
  const auto tiles = static_cast<unsigned>((args.q_length + rows - 1) / rows);
  const std::int64_t numbers = (rows + 2 * kMmaKeys) * shape.ld_d + std::int64_t{2} * kMmaKeys * shape.ld_v;
  launch(mma_attention<Form, kDim, kExact>,
         dim3(tiles, static_cast<unsigned>(args.q_heads), static_cast<unsigned>(args.batch)),
         dim3(static_cast<unsigned>(32 * warps)), static_cast<std::size_t>(numbers) * sizeof(std::uint16_t), stream,
         args, shape);
}

template <class Form>
void launch_attention_mma(const AttentionArgs& args, Stream stream) {
  const auto up = [](int x, int multiple) { return (x + multiple - 1) / multiple * multiple; };
  MmaShape shape{};
  shape.d = up(args.head_dim, kMmaGroup);
  shape.dv = up(args.value_dim, kMmaGroup);
  shape.ld_d = up(args.head_dim, 64);
  shape.ld_v = up(args.value_dim, 64);
  shape.q_16 = copies_by_16(args.q, args.q_stride, args.head_dim);
  shape.k_16 = copies_by_16(args.k, args.k_stride, args.head_dim);
  shape.v_16 = copies_by_16(args.v, args.v_stride, args.value_dim);
  shape.c_hat = static_cast<float>(args.scale * std::numbers::log2e);  // formed in double, then rounded to f32
  const bool exact = args.head_dim == args.value_dim && shape.q_16 && shape.k_16 && shape.v_16;
  if (exact && args.head_dim == 64) return launch_mma<Form, 64, true>(args, shape, stream);
  if (exact && args.head_dim == 128) return launch_mma<Form, 128, true>(args, shape, stream);
  launch_mma<Form, kMmaMaxDim, false>(args, shape, stream);
}

template <class Form>
constexpr Arithmetic mma_arithmetic() {
  return {.reduction = Reduction::chunk_deferred,
          .exponent = Form::kExponent,
          .unit = ScoreUnit::raw,
          .exp_error = kDetExp2Error,
          .log_error = kDetLogError,
          .lanes = 4,
          .deal = 2,
          .dot = {.chains = 1, .unit = kHopperF16},
          .values = {.chains = 1, .unit = kHopperF16},
          .weights = {.format = Form::kWeights, .scale = Form::kWeightScale},
          .lse_form = LseForm::scaled_max_plus_log,
          .ending = Ending::multiply_reciprocal};
}

inline constexpr Format kMmaF16[] = {Format::f16};
inline constexpr Format kMmaBf16[] = {Format::bf16};

template <class Form>
KernelDeclaration mma_declaration(std::string_view id) {
  return {
      .id = id,
      .problem = ProblemKind::attention,
      .form = flashproof::Form::hardened,
      .formats = Form::kFormat == Format::f16 ? std::span<const Format>(kMmaF16) : std::span<const Format>(kMmaBf16),
      .contract = {.isolates_hidden = true},
      .arithmetic = mma_arithmetic<Form>(),
      .unsupported = {mma_unsupported, {Feature::window, Feature::alibi, Feature::sink}},
      .launch = launch_attention_mma<Form>};
}

}  // namespace flashproof::FP_EXECUTOR
