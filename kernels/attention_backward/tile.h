// What the backward attention kernels share: tiles of 16 queries by 16 keys in shared memory, P and dS of every pair of
// them, and the sums that leave. tile_launch.h has the host's side.
//
//   block      128 threads: 16 rows (of queries or of keys), 8 lanes (neighbours in a warp) per row
//   shared     q and dO (16, ld), k and v (16, ld) as f32, ld a multiple of 4 and the padding zero; P and dS (16, 17);
//              lse and D (16)
//   pair       x = q·k and dP = dO·v: four fma chains each, (0+1) + (2+3) (attention/parts/tile_scores.h); natural scores
//              s = ((τx + bias) − slope·|distance|), one rounding each; t = dP − D; dS = P·t
#pragma once

#include <cstdint>

#include "kernels/attention/parts/tile.h"
#include "kernels/attention/parts/tile_scores.h"
#include "kernels/registry.h"

namespace flashproof::FP_EXECUTOR::backward {

inline constexpr int kTile = kTileRows;                // queries, and keys, of a tile
inline constexpr int kMaxDim = 256;                    // d and dv
inline constexpr int kGroupColumns = 4 * kRowLanes;    // of a group: four of each lane
inline constexpr int kFewColumns = 4 * kGroupColumns;  // above the instance of one group
inline constexpr int kPairPitch = kTile + 1;           // odd: a column of pairs is in 16 banks

/// P = e^{s − lse}, P and dS stay f32.
struct Accurate {
  static constexpr bool kFused = false;
  static constexpr bool kRoundsWeights = false;
};
/// P = exp2(x·τlog2e − lse·log2e) by one fma, P and dS rounded to the storage format before they are used.
struct Fused : Accurate {
  static constexpr bool kFused = true;
  static constexpr bool kRoundsWeights = true;
};

template <Format F>
__device__ inline float through_storage(float x) {
  if constexpr (F == Format::f16) {
    return storage::from_f16(storage::to_f16(x));
  } else if constexpr (F == Format::bf16) {
    return storage::from_bf16(storage::to_bf16(x));
  } else {
    return x;
  }
}

__host__ inline std::int64_t shared_bytes(int head_dim, int value_dim) {
  const std::int64_t floats = 2 * kTile * (leading(head_dim) + leading(value_dim) + kPairPitch + 1);
  return floats * static_cast<std::int64_t>(sizeof(float));
}

/// The rows of q, dO, lse and D are numbered from the first query of the tile, those of k and v from its first key.
struct Pairs {
  int ld_d, ld_v;
  float *q, *d_out, *k, *v, *p, *ds, *lse, *delta;

  __device__ Pairs(const AttentionArgs& a, float* shared) {
    ld_d = leading(a.head_dim);
    ld_v = leading(a.value_dim);
    q = shared;
    k = q + kTile * ld_d;
    d_out = k + kTile * ld_d;
    v = d_out + kTile * ld_v;
    p = v + kTile * ld_v;
    ds = p + kTile * kPairPitch;
    lse = ds + kTile * kPairPitch;
    delta = lse + kTile;
  }
};

__device__ inline int thread_row() { return static_cast<int>(threadIdx.x) / kRowLanes; }
__device__ inline int thread_lane() { return static_cast<int>(threadIdx.x) % kRowLanes; }
__device__ inline int keys_of(const AttentionArgs& a, int b) { return a.key_length ? a.key_length[b] : a.k_length; }
__device__ inline std::int64_t query_row(const AttentionArgs& a, int b, int h, int i) {
  return (static_cast<std::int64_t>(b) * a.q_heads + h) * a.q_length + i;
}

/// Where row `first` + r of a (B, H, S, ·) tensor begins.
struct RowOf {
  const std::int64_t* stride;
  int b, h, first;
  __device__ std::int64_t operator()(int r) const {
    return b * stride[0] + h * stride[1] + static_cast<std::int64_t>(first + r) * stride[2];
  }
};

/// The caller puts a barrier before and after.
template <Format F>
__device__ inline void load_query_tile(const BackwardArgs& args, const float* delta, const Pairs& pairs, int b, int h,
                                       int first) {
  const AttentionArgs& a = args.forward;
  const int rows = min(kTile, a.q_length - first);
  load_rows<F>(pairs.q, pairs.ld_d, a.q, a.q_stride[3], rows, a.head_dim, RowOf{a.q_stride, b, h, first});
  load_rows<F>(pairs.d_out, pairs.ld_v, args.d_out, args.d_out_stride[3], rows, a.value_dim,
               RowOf{args.d_out_stride, b, h, first});
  const int r = static_cast<int>(threadIdx.x);
  if (r < rows) {
    pairs.lse[r] = args.lse[b * args.lse_stride[0] + h * args.lse_stride[1] + (first + r) * args.lse_stride[2]];
    pairs.delta[r] = delta[query_row(a, b, h, first + r)];
  }
}

/// Rows from keys_of() on belong to no key and are not read. The caller puts a barrier before and after.
template <Format F>
__device__ inline void load_key_tile(const AttentionArgs& a, const Pairs& pairs, int b, int kv_head, int first) {
  const int rows = min(kTile, keys_of(a, b) - first);
  load_rows<F>(pairs.k, pairs.ld_d, a.k, a.k_stride[3], rows, a.head_dim, RowOf{a.k_stride, b, kv_head, first});
  load_rows<F>(pairs.v, pairs.ld_v, a.v, a.v_stride[3], rows, a.value_dim, RowOf{a.v_stride, b, kv_head, first});
}

/// Key j less the position of query i, aligned bottom right.
__device__ inline std::int64_t beyond_diagonal(const AttentionArgs& a, int i, int j) {
  return static_cast<std::int64_t>(j) - i - (static_cast<std::int64_t>(a.k_length) - a.q_length);
}

__device__ inline bool sees(const AttentionArgs& a, std::int64_t beyond) {
  return !(a.causal && beyond > 0) && !(a.window_left >= 0 && beyond < -static_cast<std::int64_t>(a.window_left)) &&
         !(a.window_right >= 0 && beyond > a.window_right);
}

/// P of one pair, or kHidden: hidden by position, a bias of −inf, or a score of −inf that an infinite q or k makes.
template <class Variant>
__device__ inline float weight(const AttentionArgs& a, int b, int h, int i, int j, const float* q, const float* k,
                               int ld, float lse) {
  const std::int64_t beyond = beyond_diagonal(a, i, j);
  if (!sees(a, beyond)) {
    return kHidden;
  }
  float x = dot(q, k, ld);
  if constexpr (Variant::kFused) {
    if (x == kMinusInf) {
      return overflowed(x, q, k, ld) ? __int_as_float(det::kNan) : kHidden;
    }
    const float c = __fmul_rn(a.scale, ExpCoefficients::log2_e);
    return math_exp2(__fmaf_rn(x, c, -__fmul_rn(lse, ExpCoefficients::log2_e)));
  } else {
    x = __fmul_rn(a.scale, x);
    if (a.bias) {
      const float bias =
          a.bias[b * a.bias_stride[0] + h * a.bias_stride[1] + i * a.bias_stride[2] + j * a.bias_stride[3]];
      if (bias == kMinusInf) {
        return kHidden;  // whatever the dot product is
      }
      x = __fadd_rn(x, bias);
    }
    if (a.alibi) {
      const float distance = static_cast<float>(beyond < 0 ? -beyond : beyond);
      x = __fsub_rn(x, __fmul_rn(a.alibi[static_cast<std::int64_t>(b) * a.q_heads + h], distance));
    }
    if (x == kMinusInf) {
      return overflowed(x, q, k, ld) ? __int_as_float(det::kNan) : kHidden;  // a key is not lost in silence
    }
    return math_exp(__fsub_rn(x, lse));
  }
}

/// P and dS of all pairs of the tile, each as it is used from there on; P is kHidden where a pair does not count. The
/// caller puts a barrier before and after.
template <Format F, class Variant>
__device__ inline void compute_pairs(const AttentionArgs& a, const Pairs& pairs, int b, int h, int first_query,
                                     int first_key) {
  const int row = thread_row();
  const float* q = pairs.q + row * pairs.ld_d;
  const float* d_out = pairs.d_out + row * pairs.ld_v;
  for (int j = thread_lane(); j < kTile; j += kRowLanes) {
    const int at = row * kPairPitch + j;
    float p = kHidden;
    if (first_query + row < a.q_length && first_key + j < keys_of(a, b)) {
      p = weight<Variant>(a, b, h, first_query + row, first_key + j, q, pairs.k + j * pairs.ld_d, pairs.ld_d,
                          pairs.lse[row]);
    }
    pairs.p[at] = p;
    pairs.ds[at] = 0.0F;
    if (p == kHidden) {
      continue;
    }
    const float t = __fsub_rn(dot(d_out, pairs.v + j * pairs.ld_v, pairs.ld_v), pairs.delta[row]);
    const float ds = __fmul_rn(p, t);
    pairs.p[at] = Variant::kRoundsWeights ? through_storage<F>(p) : p;
    pairs.ds[at] = Variant::kRoundsWeights ? through_storage<F>(ds) : ds;
  }
}

/// sum[i] += x·y over this lane's columns: lane g has 4g + 32i .. 4g + 32i + 3.
template <int kGroups>
__device__ inline void add_product(float4 (&sum)[kGroups], float x, const float* y, int width) {
#pragma unroll
  for (int i = 0; i < kGroups; ++i) {
    const int column = 4 * thread_lane() + 4 * kRowLanes * i;
    if (column < width) {
      fma4(sum[i], x, load_f32x4(y + column));
    }
  }
}

/// scale·sum, or the sum itself, into row `row` of a dense tensor; lanes and columns as in add_product().
template <Format F, bool kScaled, int kGroups>
__device__ inline void store_gradient(void* out, std::int64_t row, int width, const float4 (&sum)[kGroups],
                                      float scale) {
#pragma unroll
  for (int i = 0; i < kGroups; ++i) {
    const float4 result = kScaled ? scale4(scale, sum[i]) : sum[i];
    const float value[4] = {result.x, result.y, result.z, result.w};
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const int column = 4 * thread_lane() + 4 * kRowLanes * i + c;
      if (column < width) {
        store<F>(out, row * width + column, value[c]);
      }
    }
  }
}

}  // namespace flashproof::FP_EXECUTOR::backward
