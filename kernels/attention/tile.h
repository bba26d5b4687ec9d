// What every tiled attention kernel here shares: who works on what, the tiles in shared memory, the scores of a chunk.
//
//   block      128 threads: 16 query rows, 8 lanes (neighbours in a warp) per row
//   shared     q (16, ld_d), k (chunk, ld_d), v (chunk, ld_v) and p (16, chunk) as f32; leading dimensions are
//              multiples of 4 (16-byte loads), the padding is zero
//   scores     lane g has keys g, g+8, ...; a dot product is four fma chains (columns 0, 4, ... | 1, 5, ... | ...)
//              added as (0+1) + (2+3); then one product with scale and, if there is a bias, one sum
#pragma once

#include <string>

#include "kernels/args.h"
#include "kernels/attention/forms.h"
#include "kernels/maximum.h"
#include "kernels/simt/math.h"
#include "kernels/simt/simt.h"
#include "kernels/simt/storage.h"
#include "reference/problem/problems.h"

namespace flashproof::FP_EXECUTOR {

inline constexpr int kTileRows = 16;
inline constexpr int kRowLanes = 8;
inline constexpr int kTileThreads = kTileRows * kRowLanes;
inline constexpr int kMaxDim = 256;
inline constexpr int kSharedLimit = 232448;  // bytes a block may have on sm_90

/// In place of p for a key that does not count: hidden by position or bias, or with a score of −inf.
inline constexpr float kHidden = -1.0F;

__device__ __host__ inline int leading(int dim) { return (dim + 3) / 4 * 4 + 4; }

__host__ inline std::int64_t tile_bytes(std::int64_t chunk, int head_dim, int value_dim) {
  const std::int64_t floats =
      kTileRows * (leading(head_dim) + chunk) + chunk * (leading(head_dim) + leading(value_dim));
  return floats * static_cast<std::int64_t>(sizeof(float));
}

/// One block's place in the problem and its shared memory.
struct Tile {
  int b, h, kv_head;
  int row, lane;  // of this thread: query row in the tile, lane in the row
  int query;      // global query index of `row`; may be beyond q_length
  int length;     // visible keys of this batch
  int ld_d, ld_v, ld_p;
  float *q, *k, *v, *p;

  __device__ Tile(const AttentionArgs& a, float* shared) {
    b = static_cast<int>(blockIdx.z);
    h = static_cast<int>(blockIdx.y);
    kv_head = static_cast<int>(static_cast<std::int64_t>(h) * a.k_heads / a.q_heads);
    row = static_cast<int>(threadIdx.x) / kRowLanes;
    lane = static_cast<int>(threadIdx.x) % kRowLanes;
    query = static_cast<int>(blockIdx.x) * kTileRows + row;
    length = a.key_length ? a.key_length[b] : a.k_length;
    ld_d = leading(a.head_dim);
    ld_v = leading(a.value_dim);
    ld_p = a.max_chunk;
    q = shared;
    k = q + kTileRows * ld_d;
    v = k + a.max_chunk * ld_d;
    p = v + a.max_chunk * ld_v;
  }

  __device__ bool visible(const AttentionArgs& a, int key) const {
    return !a.causal || static_cast<std::int64_t>(key) - query <= static_cast<std::int64_t>(a.k_length) - a.q_length;
  }
};

/// Rows [0, rows) of a (length, dim) slice into shared memory, 8 lanes a row; columns dim..ld-5 become zero.
template <Format F>
__device__ inline void load_tile(float* tile, int ld, const void* base, std::int64_t start, std::int64_t row_stride,
                                 std::int64_t col_stride, int rows, int dim) {
  for (int r = static_cast<int>(threadIdx.x) / kRowLanes; r < rows; r += kTileRows) {
    for (int c = static_cast<int>(threadIdx.x) % kRowLanes; c < ld - 4; c += kRowLanes) {
      tile[r * ld + c] = c < dim ? load<F>(base, start + r * row_stride + c * col_stride) : 0.0F;
    }
  }
}

template <Format F>
__device__ inline void load_queries(const AttentionArgs& a, const Tile& tile) {
  const int first = static_cast<int>(blockIdx.x) * kTileRows;
  const int rows = min(kTileRows, a.q_length - first);
  load_tile<F>(tile.q, tile.ld_d, a.q, tile.b * a.q_stride[0] + tile.h * a.q_stride[1] + first * a.q_stride[2],
               a.q_stride[2], a.q_stride[3], rows, a.head_dim);
}

/// Keys and values [begin, begin + keys) of the chunk. The caller puts a barrier before and after.
template <Format F>
__device__ inline void load_chunk(const AttentionArgs& a, const Tile& tile, int begin, int keys) {
  load_tile<F>(tile.k, tile.ld_d, a.k, tile.b * a.k_stride[0] + tile.kv_head * a.k_stride[1] + begin * a.k_stride[2],
               a.k_stride[2], a.k_stride[3], keys, a.head_dim);
  load_tile<F>(tile.v, tile.ld_v, a.v, tile.b * a.v_stride[0] + tile.kv_head * a.v_stride[1] + begin * a.v_stride[2],
               a.v_stride[2], a.v_stride[3], keys, a.value_dim);
}

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

__device__ inline bool is_infinite(float x) { return (__float_as_int(x) & 0x7fffffff) == det::kInfinity; }

/// A score of −inf that no infinite q or k explains: a sum of finite products left the f32 range.
__device__ inline bool overflowed(float s, const float* x, const float* y, int ld) {
  bool infinite = false;
  for (int c = 0; s == kMinusInf && c < ld - 4; ++c) {
    infinite = infinite || is_infinite(x[c]) || is_infinite(y[c]);
  }
  return s == kMinusInf && !infinite;
}

/// This lane's scores of the chunk into p (−inf where hidden) and their maximum over the whole row.
template <class Variant>
__device__ inline float chunk_scores(const AttentionArgs& a, const Tile& tile, int begin, int keys) {
  float largest = kMinusInf;
  for (int j = tile.lane; j < keys; j += kRowLanes) {
    float s = kMinusInf;
    if (tile.query < a.q_length && tile.visible(a, begin + j)) {
      const float* q = tile.q + tile.row * tile.ld_d;
      const float* k = tile.k + j * tile.ld_d;
      s = __fmul_rn(a.scale, dot(q, k, tile.ld_d));
      float bias = 0.0F;
      if (a.bias) {
        bias = a.bias[tile.b * a.bias_stride[0] + tile.h * a.bias_stride[1] + tile.query * a.bias_stride[2] +
                      (begin + j) * a.bias_stride[3]];
        s = __fadd_rn(s, bias);
      }
      if (Variant::kIsolatesHidden && bias == kMinusInf) {
        s = kMinusInf;  // hidden, whatever the dot product is
      } else if (Variant::kIsolatesHidden && overflowed(s, q, k, tile.ld_d)) {
        s = __int_as_float(det::kNan);  // the key would be lost in silence
      }
    }
    tile.p[tile.row * tile.ld_p + j] = s;
    largest = larger<Variant>(largest, s);
  }
  for (int offset = kRowLanes / 2; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(0xffffffffU, largest, offset);
    largest = larger<Variant>(largest, other);
  }
  return largest;
}

/// Replaces this lane's scores by p = e^{s − frame} (kHidden where the variant isolates) and returns their sum.
template <class Variant>
__device__ inline float chunk_weights(const Tile& tile, int keys, float frame) {
  float sum = 0.0F;
  for (int j = tile.lane; j < keys; j += kRowLanes) {
    float& p = tile.p[tile.row * tile.ld_p + j];
    if (Variant::kIsolatesHidden && p == kMinusInf) {
      p = kHidden;
      continue;
    }
    p = math_exp(__fsub_rn(p, frame));
    sum = __fadd_rn(sum, p);
  }
  return sum;
}

__device__ inline float row_sum(float value) {
  for (int offset = kRowLanes / 2; offset > 0; offset /= 2) {
    value = __fadd_rn(value, __shfl_xor_sync(0xffffffffU, value, offset));
  }
  return value;
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

/// sum[i] += Σ_j p_j v_j over the chunk, one fma chain in key order; lane g has columns 4g + 32i .. 4g + 32i + 3.
template <class Variant, int kGroups>
__device__ inline void accumulate_values(const AttentionArgs& a, const Tile& tile, int keys, float4 (&sum)[kGroups]) {
  for (int j = 0; j < keys; ++j) {
    const float p = tile.p[tile.row * tile.ld_p + j];
    if (Variant::kIsolatesHidden && p == kHidden) {
      continue;
    }
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
      const int column = 4 * tile.lane + 4 * kRowLanes * i;
      if (column < a.value_dim) {
        fma4(sum[i], p, load_f32x4(tile.v + j * tile.ld_v + column));
      }
    }
  }
}

template <Format F, int kGroups>
__device__ inline void store_row(const AttentionArgs& a, const Tile& tile, const float4 (&o)[kGroups], float lse) {
  if (tile.query >= a.q_length) {
    return;
  }
  const std::int64_t row = (static_cast<std::int64_t>(tile.b) * a.q_heads + tile.h) * a.q_length + tile.query;
#pragma unroll
  for (int i = 0; i < kGroups; ++i) {
    const float value[4] = {o[i].x, o[i].y, o[i].z, o[i].w};
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const int column = 4 * tile.lane + 4 * kRowLanes * i + c;
      if (column < a.value_dim) {
        store<F>(a.o, row * a.value_dim + column, value[c]);
      }
    }
  }
  if (tile.lane == 0) {
    store<Format::f32>(a.lse, row, lse);
  }
}

/// Calls launch_groups.operator()<F, kGroups>() with enough groups of 32 value columns.
template <class Launcher>
void dispatch_tile(const AttentionArgs& args, Launcher launcher) {
  dispatch_format(args.format, [&]<Format F>() {
    if (args.value_dim <= 32) {
      launcher.template operator()<F, 1>();
    } else if (args.value_dim <= 128) {
      launcher.template operator()<F, 4>();
    } else {
      launcher.template operator()<F, 8>();
    }
  });
}

inline dim3 tile_grid(const AttentionArgs& args) {
  const std::int64_t tiles = (static_cast<std::int64_t>(args.q_length) + kTileRows - 1) / kTileRows;
  return dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(args.q_heads), static_cast<unsigned>(args.batch));
}

}  // namespace flashproof::FP_EXECUTOR
