// attention/deferred.h with raw scores, the maximum subtracted before the scale: no head-room is lost to m·ĉ.
//
//   computes   as attention/fused.h
//   shapes     as attention/deferred.h; scale above 0
//   launch     as attention/deferred.h
//   edges      as attention/deferred.h; scores whose difference leaves f32 before the scale make the row NaN
//   arithmetic f32. ĉ = fl(scale · log2 e); m' = max(m, max x), α = 2^{(m−m')·ĉ}, p = 2^{(x−m')·ĉ}, two roundings each;
//              sums and the ending as attention/deferred.h; lse = m·scale + ln l. p is at most 1
//   source     Dao 2023 (FlashAttention-2), section 3.1, with the scale inside the exponential
//   chosen     the order of subtraction and scale; the rest as attention/fused.h

#include "kernels/attention/fused.h"

namespace flashproof::FP_EXECUTOR {

struct AttentionSubtractScale : AttentionHardened {
  static constexpr ScoreUnit kUnit = ScoreUnit::raw;
  static constexpr Exponent kExponent = Exponent::subtract_then_scale;
};

inline constexpr Arithmetic kSubtractScaleArithmetic = raw_deferred(Exponent::subtract_then_scale);

std::span<const KernelDeclaration> attention_subtract_scale() {
  static const KernelDeclaration declarations[] = {
      declaration("attention.subtract_scale.hardened", kSubtractScaleArithmetic,
                  launch_attention_deferred<AttentionSubtractScale>,
                  {.unsupported = hardened_refusal(raw_unsupported)}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
