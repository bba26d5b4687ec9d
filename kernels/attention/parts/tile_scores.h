// What every tiled attention kernel does with its tiles (tile.h): the scores of a chunk, their weights, the sum over
// values, the row that leaves.
//
//   scores     lane g has keys g, g+8, ... of the chunk; a dot product is four fma chains (columns 0, 4, ... | 1, 5, ...
//              | ...) added as (0+1) + (2+3); then scores.h
//   weights    a lane's own left to right; maxima and sums of a row by a butterfly over its 8 lanes
//   values     one fma chain over the keys of the chunk in key order; lane g has columns 4g + 32i .. 4g + 32i + 3
//   descale    scale·q_descale·k_descale is formed once per row (scores.h); the ended o is multiplied by v_descale
#pragma once

#include <cstdint>

#include "kernels/args.h"
#include "kernels/attention/parts/scores.h"
#include "kernels/attention/parts/tile.h"
#include "kernels/maximum.h"
#include "kernels/simt/simt.h"
#include "kernels/simt/storage.h"

namespace flashproof::FP_EXECUTOR {

__device__ inline float dot(const float* x, const float* y, int ld) {
  float s0 = 0.0F;
  float s1 = 0.0F;
  float s2 = 0.0F;
  float s3 = 0.0F;
  for (int c = 0; c < ld - 4; c += 4) {
    const float4 a = load_f32x4(x + c);
    const float4 b = load_f32x4(y + c);
    s0 = __fmaf_rn(a.x, b.x, s0);
    s1 = __fmaf_rn(a.y, b.y, s1);
    s2 = __fmaf_rn(a.z, b.z, s2);
    s3 = __fmaf_rn(a.w, b.w, s3);
  }
  return __fadd_rn(__fadd_rn(s0, s1), __fadd_rn(s2, s3));
}

/// A score of −inf that no infinite q or k explains: a sum of finite products left the f32 range.
__device__ inline bool overflowed(float s, const float* x, const float* y, int ld) {
  bool infinite = false;
  for (int c = 0; s == kMinusInf && c < ld - 4; ++c) {
    infinite = infinite || det::is_infinite(x[c]) || det::is_infinite(y[c]);
  }
  return s == kMinusInf && !infinite;
}

/// The score of key `key` of the sequence, k its row of the tile; −inf where hidden.
template <class Variant>
__device__ inline float tile_score(const AttentionArgs& a, const Tile& tile, const Scoring<Variant>& scoring, int key,
                                   const float* k) {
  if (key < tile.first || key >= tile.last) {
    return kMinusInf;
  }
  const float bias = bias_at(a, tile.place, tile.query, key);
  if (Variant::kIsolatesHidden && bias == kMinusInf) {
    return kMinusInf;  // hidden, whatever the dot product is
  }
  const float* q = tile.q + tile.row * tile.ld_d;
  const float product = dot(q, k, tile.ld_d);
  const float s = scoring.score(a, tile.place, tile.query, key, product, bias);
  // The key would be lost in silence, or a softcap would make the overflow a finite score.
  const float suspect = a.softcap != 0.0F && det::is_infinite(product) ? kMinusInf : s;
  return Variant::kIsolatesHidden && overflowed(suspect, q, k, tile.ld_d) ? __int_as_float(det::kNan) : s;
}

template <class Variant>
__device__ inline float row_maximum(float largest) {
  for (int offset = kRowLanes / 2; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(0xffffffffU, largest, offset);
    largest = larger<Variant>(largest, other);
  }
  return largest;
}

__device__ inline float row_sum(float value) {
  for (int offset = kRowLanes / 2; offset > 0; offset /= 2) {
    value = __fadd_rn(value, __shfl_xor_sync(0xffffffffU, value, offset));
  }
  return value;
}

/// The scores of keys [begin, begin + keys) into p, and their maximum over the whole row. The whole block takes part.
template <class Variant>
__device__ inline float chunk_scores(const AttentionArgs& a, const Tile& tile, const Scoring<Variant>& scoring,
                                     int begin, int keys) {
  float largest = kMinusInf;
  for (int from = 0; from < keys; from += tile.keys) {
    const int count = min(tile.keys, keys - from);
    __syncthreads();  // what was in the tile and in p is used up
    load_tile(tile.kv, tile.ld_d, a.kv_format, a.k, a.k_stride[3], count, a.head_dim,
              [&](int r) { return tile.place.k_offset(a, begin + from + r); });
    __syncthreads();
    for (int j = tile.lane; j < count; j += kRowLanes) {
      const float s = tile_score<Variant>(a, tile, scoring, begin + from + j, tile.kv + j * tile.ld_d);
      tile.p[from + j] = s;
      largest = larger<Variant>(largest, s);
    }
  }
  return row_maximum<Variant>(largest);
}

/// Replaces this lane's scores by p = e^{s − frame} (kHidden where the variant isolates) and returns their sum, added to
/// `start`.
template <class Variant>
__device__ inline float chunk_weights(const Tile& tile, const Scoring<Variant>& scoring, int keys, float frame,
                                      float start = 0.0F) {
  float sum = start;
  for (int j = tile.lane; j < keys; j += kRowLanes) {
    float& p = tile.p[j];
    if (Variant::kIsolatesHidden && p == kMinusInf) {
      p = kHidden;
      continue;
    }
    p = scoring.weight(p, frame);
    sum = __fadd_rn(sum, p);
  }
  return sum;
}

/// p = p / l, each on its own.
template <class Variant>
__device__ inline void divide_weights(const Tile& tile, int keys, float l) {
  for (int j = tile.lane; j < keys; j += kRowLanes) {
    float& p = tile.p[j];
    if (!Variant::kIsolatesHidden || p != kHidden) {
      p = __fdiv_rn(p, l);
    }
  }
}

__device__ inline void fma4(float4& sum, float p, const float4& v) {
  sum.x = __fmaf_rn(p, v.x, sum.x);
  sum.y = __fmaf_rn(p, v.y, sum.y);
  sum.z = __fmaf_rn(p, v.z, sum.z);
  sum.w = __fmaf_rn(p, v.w, sum.w);
}

__device__ inline float4 scale4(float factor, const float4& v) {
  return make_float4(__fmul_rn(factor, v.x), __fmul_rn(factor, v.y), __fmul_rn(factor, v.z), __fmul_rn(factor, v.w));
}

__device__ inline float4 divide4(const float4& v, float l) {
  return make_float4(__fdiv_rn(v.x, l), __fdiv_rn(v.y, l), __fdiv_rn(v.z, l), __fdiv_rn(v.w, l));
}

__device__ inline float4 add4(const float4& x, const float4& y) {
  return make_float4(__fadd_rn(x.x, y.x), __fadd_rn(x.y, y.y), __fadd_rn(x.z, y.z), __fadd_rn(x.w, y.w));
}

template <int kGroups>
__device__ inline void fill4(float4 (&o)[kGroups], float value) {
#pragma unroll
  for (int i = 0; i < kGroups; ++i) {
    o[i] = make_float4(value, value, value, value);
  }
}

/// The values of as many of the keys [begin + from, begin + keys) as the tile holds, and their number. The whole block
/// takes part.
__device__ inline int load_values(const AttentionArgs& a, const Tile& tile, int begin, int keys, int from) {
  const int count = min(tile.keys, keys - from);
  __syncthreads();  // what was in the tile is used up, p is written
  load_tile(tile.kv, tile.ld_v, a.kv_format, a.v, a.v_stride[3], count, a.value_dim,
            [&](int r) { return tile.place.v_offset(a, begin + from + r); });
  __syncthreads();
  return count;
}

/// sum[i] += Σ_j p_j v_j over the keys [begin, begin + keys), one fma chain in key order; lane g has columns
/// 4g + 32i .. 4g + 32i + 3. The whole block takes part.
template <class Variant, int kGroups>
__device__ inline void accumulate_values(const AttentionArgs& a, const Tile& tile, int begin, int keys,
                                         float4 (&sum)[kGroups]) {
  for (int from = 0; from < keys; from += tile.keys) {
    const int count = load_values(a, tile, begin, keys, from);
    for (int j = 0; j < count; ++j) {
      const float p = tile.p[from + j];
      if (Variant::kIsolatesHidden && p == kHidden) {
        continue;
      }
#pragma unroll
      for (int i = 0; i < kGroups; ++i) {
        const int column = 4 * tile.lane + 4 * kRowLanes * i;
        if (column < a.value_dim) {
          fma4(sum[i], p, load_f32x4(tile.kv + j * tile.ld_v + column));
        }
      }
    }
  }
}

template <int kGroups>
__device__ inline void store_row(const AttentionArgs& a, const Tile& tile, const float4 (&o)[kGroups], float lse) {
  if (tile.query >= tile.place.q_length) {
    return;
  }
  const std::int64_t row = tile.place.output_row(a, tile.query);
  const float* descale = a.v_descale ? a.v_descale + tile.place.b * a.k_heads + tile.place.kv_head : nullptr;
  with_storage_format(a.out_format, [&]<Format F>() {
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      const float4 scaled = descale ? scale4(*descale, o[i]) : o[i];
      const float value[4] = {scaled.x, scaled.y, scaled.z, scaled.w};
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int column = 4 * tile.lane + 4 * kRowLanes * i + c;
        if (column < a.value_dim) {
          store<F>(a.o, row * a.value_dim + column, value[c]);
        }
      }
    }
  });
  if (tile.lane == 0) {
    store<Format::f32>(a.lse, row, lse);
  }
}

}  // namespace flashproof::FP_EXECUTOR
