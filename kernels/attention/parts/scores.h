// The score of a key and the exponentials of scores, as every scalar attention kernel forms them. The operations and
// their order are those of ScoreUnit and Exponent in reference/bound/declare/arithmetic.h.
#pragma once

#include "kernels/attention/parts/difference.h"
#include "kernels/attention/parts/forms.h"
#include "kernels/attention/parts/place.h"
#include "kernels/maximum.h"
#include "kernels/simt/math.h"
#include "reference/bound/declare/arithmetic.h"

namespace flashproof::FP_EXECUTOR {

/// What all scores of one query head share.
template <class Variant>
struct Scoring {
  static constexpr bool kRaw = Variant::kUnit == ScoreUnit::raw;

  float scale;        // q and k descale factors included, NaN if they leave the f32 range
  float unit;         // what a score is multiplied by to be one
  float cap, factor;  // softcap, 0: none; raw: scale / cap, NaN beyond the f32 range
  float slope;        // ALiBi, in the unit of the scores
  float log2_unit;    // ĉ = fl(unit · log2 e)

  __device__ Scoring(const AttentionArgs& a, const Sequence& place) {
    const int kv = place.b * a.k_heads + place.kv_head;
    scale = a.scale;
    scale = a.q_descale ? __fmul_rn(scale, a.q_descale[kv]) : scale;
    scale = a.k_descale ? __fmul_rn(scale, a.k_descale[kv]) : scale;
    // Infinite, it would hide keys, or a softcap would make it a finite score.
    scale = det::is_infinite(scale) ? __int_as_float(det::kNan) : scale;
    cap = a.softcap;
    factor = kRaw && cap != 0.0F ? __fdiv_rn(scale, cap) : 0.0F;
    factor = det::is_infinite(factor) ? __int_as_float(det::kNan) : factor;  // tanh would make it finite
    unit = !kRaw ? 1.0F : cap != 0.0F ? cap : scale;
    slope = a.alibi ? a.alibi[place.b * a.q_heads + place.h] : 0.0F;
    slope = kRaw ? __fdiv_rn(slope, unit) : slope;
    // The product as a sum of two f32 numbers, some 47 bits of it, then rounded to f32: not the nearest number where it
    // lies that close to the middle of two.
    constexpr float kHigh = 0x1.715476p+0F;
    constexpr float kLow = 0x1.4ae0cp-26F;
    const float high = __fmul_rn(unit, kHigh);
    log2_unit = __fadd_rn(high, __fmaf_rn(unit, kLow, __fmaf_rn(unit, kHigh, -high)));
  }

  __device__ float added(float x) const { return kRaw ? __fdiv_rn(x, unit) : x; }

  /// From the dot product of a key that the row sees by position. `bias` is not −inf.
  __device__ float score(const AttentionArgs& a, const Sequence& place, int query, int key, float dot,
                         float bias) const {
    float s = kRaw ? dot : __fmul_rn(scale, dot);
    if (cap != 0.0F) {
      s = kRaw ? math_tanh(__fmul_rn(s, factor)) : __fmul_rn(cap, math_tanh(__fdiv_rn(s, cap)));
    }
    if (a.bias) {
      s = __fadd_rn(s, added(bias));
    }
    if (a.alibi) {
      s = __fsub_rn(s, __fmul_rn(slope, place.distance(query, key)));
    }
    return s;
  }

  /// The sink as the state before the first chunk: its frame, −inf without one; NaN, and so is the row, for a sink of
  /// +inf or NaN, and for one that leaves the f32 range in the unit of the scores.
  __device__ float sink_frame(const AttentionArgs& a, const Sequence& place) const {
    const float stored = a.sink ? a.sink[place.h] : kMinusInf;
    const float sink = stored == kMinusInf ? stored : added(stored);
    return det::is_infinite(sink) && stored != kMinusInf ? __int_as_float(det::kNan) : sink;
  }

  /// e^{x − f} of a score in a frame.
  __device__ float weight(float x, float f) const {
    if constexpr (Variant::kExponent == Exponent::fused) {
      return math_exp2(__fmaf_rn(x, log2_unit, -__fmul_rn(f, log2_unit)));
    }
    return ratio(x, f);
  }
  /// e^{a − b} of two frames.
  __device__ float ratio(float a, float b) const {
    constexpr Exponent kForm = Variant::kExponent;
    static_assert(kForm == Exponent::accurate || kForm == Exponent::fused || kForm == Exponent::subtract_then_scale,
                  "the other forms have other roundings");
    if constexpr (kForm == Exponent::accurate) {
      return math_exp(__fsub_rn(a, b));
    }
    return math_exp2(__fmul_rn(kRaw ? checked_difference(a, b, log2_unit) : __fsub_rn(a, b), log2_unit));
  }
  __device__ float lse(float frame, float l) const {
    return __fadd_rn(kRaw ? __fmul_rn(frame, unit) : frame, math_log(l));
  }
};

/// The sum that a sink puts into lane 0, and the output that goes with its frame.
__device__ inline float sink_sum(float frame) { return frame == kMinusInf ? 0.0F : det::is_nan(frame) ? frame : 1.0F; }
__device__ inline float sink_output(float frame) { return det::is_nan(frame) ? frame : 0.0F; }

__device__ inline float bias_at(const AttentionArgs& a, const Sequence& place, int query, int key) {
  return a.bias ? a.bias[place.b * a.bias_stride[0] + place.h * a.bias_stride[1] + query * a.bias_stride[2] +
                         key * a.bias_stride[3]]
                : 0.0F;
}

}  // namespace flashproof::FP_EXECUTOR
