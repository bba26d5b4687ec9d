// Weights as fragments, and their products with a tile of values. In a matrix unit 0·NaN is NaN: where some row does not
// see a key of the tile and v holds a number that is not finite, those numbers are taken out, and a second product, of
// what is visible with where they stood, says which rows see one: their element is NaN.
#pragma once

#include "kernels/attention/parts/mma_scores.h"
#include "kernels/simt/fp8.h"

namespace flashproof::FP_EXECUTOR {

template <Format F>
inline constexpr std::uint32_t kExponentPair = F == Format::f16 ? 0x7c007c00U : 0x7f807f80U;
template <Format F>
inline constexpr std::uint32_t kOnePair = F == Format::f16 ? 0x3c003c00U : 0x3f803f80U;

/// Ones in each half of the pair that is an infinity or NaN.
template <Format F>
__device__ __forceinline__ std::uint32_t not_finite(std::uint32_t pair) {
  const std::uint32_t exponents = pair & kExponentPair<F>;
  const std::uint32_t low = (exponents & 0xffffU) == (kExponentPair<F> & 0xffffU) ? 0xffffU : 0;
  const std::uint32_t high = exponents >> 16 == kExponentPair<F> >> 16 ? 0xffff0000U : 0;
  return low | high;
}

/// Whether one of the first `rows` rows holds a number that is not finite; the same answer for the whole warp.
template <Format F>
__device__ inline bool holds_not_finite(const std::uint16_t* tile, int leading, int rows, int padded) {
  const int pieces = padded / kPiece;
  std::uint32_t found = 0;
  for (int i = static_cast<int>(threadIdx.x) % 32; i < rows * pieces; i += 32) {
    const uint4 piece = load_u32x4(tile + piece_at(leading, i / pieces, i % pieces));
    found |= not_finite<F>(piece.x) | not_finite<F>(piece.y) | not_finite<F>(piece.z) | not_finite<F>(piece.w);
  }
  return __any_sync(kWholeWarp, found != 0) != 0;
}

/// Two weights as they multiply v.
template <class Form>
__device__ __forceinline__ std::uint32_t stored_pair(float low, float high) {
  if constexpr (Form::kWeights == Form::kFormat) {
    return pack<Form::kFormat>(low, high);
  } else {
    constexpr auto kScale = static_cast<float>(Form::kWeightScale);
    if constexpr (Form::kWeightScale != 1) {
      low = __fmul_rn(low, kScale);
      high = __fmul_rn(high, kScale);
    }
    return fp8x2_to_f16x2<Form::kWeights>(to_fp8x2<Form::kWeights>(low, high));
  }
}

/// A fragment of a, keys [16 step, 16 step + 16): 1 for what is visible and 0 for what is hidden.
template <Format F>
__device__ __forceinline__ void visible_fragment(std::uint32_t (&f)[4], std::uint32_t hidden, int step) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t two = hidden >> (8 * step + 2 * i);
    f[i] = kOnePair<F> & (((two & 1U) != 0 ? 0U : 0xffffU) | ((two & 2U) != 0 ? 0U : 0xffff0000U));
  }
}

/// acc += p·v over the first `steps` groups of 16 keys, with steps and columns known (kWidth) or given.
template <Format F, int kWidth, bool kWhole, int kTiles>
__device__ __forceinline__ void add_values(float (&acc)[kTiles][4], const std::uint32_t (&p)[kMmaKeys / kMmaGroup][4],
                                           const std::uint16_t* v, int leading, int steps, int padded) {
#pragma unroll
  for (int step = 0; step < kMmaKeys / kMmaGroup; ++step) {
    if (!kWhole && step >= steps) break;
#pragma unroll
    for (int group = 0; group < kTiles / 2; ++group) {
      if (kWidth == 0 && kMmaGroup * group >= padded) break;
      std::uint32_t low[2], high[2];
      value_fragments(low, high, v, leading, group, step);
      mma_m16n8k16<F>(acc[2 * group], p[step], low);
      mma_m16n8k16<F>(acc[2 * group + 1], p[step], high);
    }
  }
}

/// The same where v holds numbers that are not finite and `hidden` says which elements see nothing of them.
template <Format F, int kTiles>
__device__ inline void add_isolated_values(float (&acc)[kTiles][4], const std::uint32_t (&p)[kMmaKeys / kMmaGroup][4],
                                           std::uint32_t hidden, const std::uint16_t* v, int leading, int steps,
                                           int padded) {
#pragma unroll
  for (int group = 0; group < kTiles / 2; ++group) {
    if (kMmaGroup * group >= padded) break;
    float seen[2][4] = {};
#pragma unroll
    for (int step = 0; step < kMmaKeys / kMmaGroup; ++step) {
      if (step >= steps) break;
      std::uint32_t visible[4], value[2][2];
      visible_fragment<F>(visible, hidden, step);
      value_fragments(value[0], value[1], v, leading, group, step);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        std::uint32_t bad[2];
        for (int i = 0; i < 2; ++i) {
          bad[i] = not_finite<F>(value[half][i]);
          value[half][i] &= ~bad[i];
          bad[i] &= kOnePair<F>;
        }
        mma_m16n8k16<F>(acc[2 * group + half], p[step], value[half]);
        mma_m16n8k16<F>(seen[half], visible, bad);
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        if (seen[half][e] > 0.0F) acc[2 * group + half][e] = __int_as_float(det::kNan);
      }
    }
  }
}

}  // namespace flashproof::FP_EXECUTOR
