// One warp of an mma attention kernel: scores, weights and sums of a tile for 16 queries. mma.h has the contract, the
// loop over tiles and the launch. A wgmma kernel would replace scores() and add_values(); cursor, rows and the treatment
// of special values do not depend on the unit.
#pragma once

#include "kernels/attention/parts/difference.h"
#include "kernels/attention/parts/mma_cursor.h"
#include "kernels/attention/parts/mma_values.h"
#include "kernels/simt/math.h"
#include "reference/bound/declare/arithmetic.h"

namespace flashproof::FP_EXECUTOR {

/// Format of q, k, v and o, form of the exponent, format and scale of P.
template <Format kStored, Exponent kForm, Format kP = kStored, int kScale = 1>
struct MmaForm {
  static constexpr Format kFormat = kStored;
  static constexpr Format kWeights = kP;
  static constexpr Exponent kExponent = kForm;
  static constexpr int kWeightScale = kScale;
  // The fused form errs by half an ulp of fl(m·ĉ) in octaves, u|m·ĉ| at most. Beyond this frame P may leave its format;
  // the declared head-room ends before: of e4m3 times 256 at log2(448 (1 + 2^-4) / 256) = 0.895 octaves, and below 2^24,
  // 0.9375 of which is taken here, half an ulp is half an octave: P is at most 2^8.5 = 362.
  static constexpr float kOctaves = kP == Format::f16 ? 16 : kP == Format::bf16 ? 126 : kScale == 1 ? 8 : 0.9375;
  static constexpr float kLargestFrame = kOctaves * 0x1.008p24F;
};

/// What a thread carries from tile to tile for its two rows.
struct MmaState {
  float m[2];      // frame, of the whole row
  float l[2];      // this lane's sum
  float added[2];  // of the chunk under way
  // This lane's maximum of the chunk under way, for raise_frame(). The second pass over a long chunk, which makes the
  // weights, goes by it again and leaves it here: it is <= m and raises no later frame.
  float most[2];
};

template <class Form>
struct MmaWeigher {
  float c_hat;
  float offset[2];  // fused: fl(m·ĉ); subtract: m

  /// most: of the scores that this weighs. Where none counts, every weight is 0, or NaN, in any frame: also in that of a
  /// sink, or of a chunk before, which is beyond the range of the form and may not make them NaN.
  __device__ __forceinline__ MmaWeigher(float c, const float (&m)[2], const float (&most)[2]) : c_hat(c) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float frame = most[r] == kMinusInf ? 0.0F : m[r];
      offset[r] = frame;
      if constexpr (Form::kExponent == Exponent::fused) {
        const float product = __fmul_rn(frame, c_hat);
        const float size = __int_as_float(__float_as_int(product) & 0x7fffffff);
        offset[r] = size <= Form::kLargestFrame ? product : __int_as_float(det::kNan);
      }
    }
  }
  /// kWide: scores may be more than 2^128 apart, as products of f16 alone may not.
  template <bool kWide>
  __device__ __forceinline__ float weight(float x, int r) const {
    if constexpr (Form::kExponent == Exponent::fused) return math_exp2(__fmaf_rn(x, c_hat, -offset[r]));
    const float difference = kWide ? checked_difference(x, offset[r], c_hat) : __fsub_rn(x, offset[r]);
    return math_exp2(__fmul_rn(difference, c_hat));
  }
};

__device__ __forceinline__ float quad_max(float x) {
  x = max_number(x, __shfl_xor_sync(kWholeWarp, x, 1));
  return max_number(x, __shfl_xor_sync(kWholeWarp, x, 2));
}
__device__ __forceinline__ float quad_sum(float x) {
  x = __fadd_rn(x, __shfl_xor_sync(kWholeWarp, x, 1));
  return __fadd_rn(x, __shfl_xor_sync(kWholeWarp, x, 2));
}

/// The frame follows the chunk's maximum; what has been summed goes along.
template <int kTiles>
__device__ __forceinline__ void raise_frame(MmaState& state, float c_hat, float (&acc)[kTiles][4]) {
  float alpha[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float m = max_number(state.m[r], quad_max(state.most[r]));
    alpha[r] = math_exp2(__fmul_rn(checked_difference(state.m[r], m == kMinusInf ? 0.0F : m, c_hat), c_hat));
    state.m[r] = m;
    state.most[r] = kMinusInf;
    state.added[r] = 0.0F;
    state.l[r] = __fmul_rn(state.l[r], alpha[r]);
  }
  if (alpha[0] != 1.0F || alpha[1] != 1.0F) {
#pragma unroll
    for (int n = 0; n < kTiles; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) acc[n][e] = __fmul_rn(acc[n][e], alpha[e / 2]);
    }
  }
}

/// kDim: what d and dv are (kExact), or at most.
template <class Form, int kDim, bool kExact>
struct MmaKernel {
  static constexpr Format kFormat = Form::kFormat;
  static constexpr int kWidth = kExact ? kDim : 0;
  static constexpr int kThreads = 32 * kMmaWarps;
  static constexpr int kTiles = kDim / 8;
  static constexpr int kSteps = kDim / kMmaGroup;

  const AttentionArgs& a;
  const MmaShape& shape;
  const MmaRows& rows;

  __device__ __forceinline__ int d() const { return kExact ? kDim : shape.d; }
  __device__ __forceinline__ int dv() const { return kExact ? kDim : shape.dv; }
  __device__ __forceinline__ int ld_d() const { return kExact ? kDim : shape.ld_d; }
  __device__ __forceinline__ int ld_v() const { return kExact ? kDim : shape.ld_v; }

  /// s = q·k of this warp's rows and the tile's keys. kWhole: the tile is full.
  template <bool kWhole>
  __device__ __forceinline__ void scores(float (&s)[kMmaColumns][4],
                                         const std::uint32_t (&query)[kExact ? kSteps : 1][4], const std::uint16_t* q,
                                         const std::uint16_t* k, int groups) const {
#pragma unroll
    for (int n = 0; n < kMmaColumns; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) s[n][e] = 0.0F;
    }
    const int warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (!kExact && kMmaGroup * step >= d()) break;
      std::uint32_t from_tile[4];
      if constexpr (!kExact) query_fragment(from_tile, q, ld_d(), kMmaRows * warp, step);
      const std::uint32_t(&fragment)[4] = *(kExact ? &query[kExact ? step : 0] : &from_tile);
#pragma unroll
      for (int group = 0; group < kMmaKeys / kMmaGroup; ++group) {
        if (!kWhole && group >= groups) break;
        std::uint32_t low[2], high[2];
        key_fragments(low, high, k, ld_d(), group, step);
        mma_m16n8k16<kFormat>(s[2 * group], fragment, low);
        mma_m16n8k16<kFormat>(s[2 * group + 1], fragment, high);
      }
    }
  }

  /// One tile. kWhole: every row of the warp sees all of its 64 keys, and nothing is added to scores.
  template <bool kWhole>
  __device__ __forceinline__ void tile(const MmaCursor& cursor, MmaState& state, float (&acc)[kTiles][4],
                                       const std::uint32_t (&query)[kExact ? kSteps : 1][4], const std::uint16_t* q,
                                       const std::uint16_t* k, const std::uint16_t* v) const {
    const int groups = (cursor.keys() + kMmaGroup - 1) / kMmaGroup;
    float s[kMmaColumns][4];
    scores<kWhole>(s, query, q, k, groups);
    std::uint32_t hidden = 0;
    bool settle = !kWhole;
    if constexpr (kWhole) {
      float least = s[0][0];
#pragma unroll
      for (int n = 0; n < kMmaColumns; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) least = min_number(least, s[n][e]);
      }
      settle = __any_sync(kWholeWarp, least == kMinusInf) != 0;
    }
    if (settle) hidden = settle_scores<kFormat>(a, rows, cursor.begin, cursor.stop, s);
    float most[2] = {kMinusInf, kMinusInf};  // of this lane's scores of the tile
#pragma unroll
    for (int n = 0; n < kMmaColumns; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) most[e / 2] = max_number(most[e / 2], s[n][e]);
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) state.most[r] = max_number(state.most[r], most[r]);
    if (cursor.only_maximum) return;
    if (cursor.first) raise_frame(state, shape.c_hat, acc);

    const MmaWeigher<Form> weigher(shape.c_hat, state.m, most);
    constexpr bool kWide = !kWhole || kFormat != Format::f16;
    std::uint32_t weights[kMmaKeys / kMmaGroup][4];
#pragma unroll
    for (int n = 0; n < kMmaColumns; ++n) {
      float p[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        p[e] = weigher.template weight<kWide>(s[n][e], e / 2);
        state.added[e / 2] = __fadd_rn(state.added[e / 2], p[e]);
      }
      weights[n / 2][n % 2 * 2] = stored_pair<Form>(p[0], p[1]);
      weights[n / 2][n % 2 * 2 + 1] = stored_pair<Form>(p[2], p[3]);
    }
    if (settle && __any_sync(kWholeWarp, hidden != 0) != 0 &&
        holds_not_finite<kFormat>(v, ld_v(), kMmaGroup * groups, dv())) {
      add_isolated_values<kFormat>(acc, weights, hidden, v, ld_v(), groups, dv());
    } else {
      add_values<kFormat, kWidth, kWhole>(acc, weights, v, ld_v(), groups, dv());
    }
    if (cursor.last) join(state);
  }

  /// A tile of which the warp sees nothing.
  __device__ __forceinline__ void hidden_tile(const MmaCursor& cursor, MmaState& state, float (&acc)[kTiles][4]) const {
    if (cursor.first) raise_frame(state, shape.c_hat, acc);
    if (cursor.last) join(state);
  }

  __device__ __forceinline__ static void join(MmaState& state) {
#pragma unroll
    for (int r = 0; r < 2; ++r) state.l[r] = __fadd_rn(state.l[r], state.added[r]);
  }

  __device__ __forceinline__ MmaState start() const {
    MmaState state;
    for (int r = 0; r < 2; ++r) {
      state.m[r] = state.most[r] = kMinusInf;
      state.l[r] = state.added[r] = 0.0F;
      const float sink = a.sink == nullptr ? kMinusInf : a.sink[rows.h];
      if (sink == kMinusInf) continue;
      const float x = __fdiv_rn(sink, a.scale);
      const bool finite = (__float_as_int(x) & 0x7fffffff) < det::kInfinity;
      state.m[r] = finite ? x : 0.0F;
      const float one = threadIdx.x % 4 == 0 ? 1.0F : 0.0F;
      state.l[r] = finite ? one : __int_as_float(det::kNan);
    }
    return state;
  }

  __device__ __forceinline__ void finish(const MmaState& state, const float (&acc)[kTiles][4]) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float l = quad_sum(state.l[r]);
      const int query = rows.first + lane / 4 + 8 * r;
      if (query >= a.q_length) continue;
      const bool empty = state.m[r] == kMinusInf && l == 0.0F;
      const float inv_l = empty ? 0.0F : math_reciprocal(l);
      const std::int64_t row = (static_cast<std::int64_t>(rows.b) * a.q_heads + rows.h) * a.q_length + query;
#pragma unroll
      for (int n = 0; n < kTiles; ++n) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int column = 8 * n + 2 * (lane % 4) + e;
          float o = acc[n][2 * r + e];
          if constexpr (Form::kWeightScale != 1) o = __fmul_rn(o, 1.0F / Form::kWeightScale);
          if (column < a.value_dim) store<kFormat>(a.o, row * a.value_dim + column, __fmul_rn(o, inv_l));
        }
      }
      const float lse = __fadd_rn(__fmul_rn(state.m[r], a.scale), math_log(l));
      if (lane % 4 == 0) store<Format::f32>(a.lse, row, empty ? kMinusInf : lse);
    }
  }
};

}  // namespace flashproof::FP_EXECUTOR
