// attention/deferred.h with raw scores: the scale meets log2 e once, and every exponential is exp2 of one fma.
//
//   computes   o[i] = Σ_j p_ij v_j, p_ij = exp(s_ij − lse_i), s_ij = scale · x_ij, x_ij by attention/parts/scores.h in the unit
//              of q·k; lse_i = scale · m_i + ln l_i
//   shapes     as attention/deferred.h; scale above 0
//   launch     as attention/deferred.h
//   edges      as attention/deferred.h; frames whose difference leaves f32 before the scale make the row NaN
//   arithmetic f32. ĉ = fl(scale · log2 e); m' = max(m, max x), α = 2^{(m−m')·ĉ}, p = 2^{fma(x, ĉ, −m'·ĉ)}; sums and the
//              ending as attention/deferred.h; lse = m·scale + ln l. p may exceed 1 by the rounding of m'·ĉ
//   source     Dao 2023 (FlashAttention-2), csrc/flash_attn/src/softmax.h, scale_apply_exp2
//   chosen     one division at the end instead of a reciprocal; a bias and ALiBi are divided by the scale, softcap takes
//              the scale's place
#pragma once

#include "kernels/attention/deferred.h"

namespace flashproof::FP_EXECUTOR {

struct AttentionFused : AttentionHardened {
  static constexpr ScoreUnit kUnit = ScoreUnit::raw;
  static constexpr Exponent kExponent = Exponent::fused;
};

constexpr Arithmetic raw_deferred(Exponent exponent) {
  Arithmetic a = kDeferredArithmetic;
  a.exponent = exponent;
  a.unit = ScoreUnit::raw;
  a.exp_error = kDetExp2Error;
  a.lse_form = LseForm::scaled_max_plus_log;
  return a;
}
inline constexpr Arithmetic kFusedArithmetic = raw_deferred(Exponent::fused);

}  // namespace flashproof::FP_EXECUTOR
