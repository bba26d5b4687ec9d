// attention_backward/two_kernels.h with the arithmetic of FlashAttention-2's code: the scale and the change of base folded
// into one fma, P and dS rounded to the storage format before they are multiplied.
//
//   computes   as attention_backward/two_kernels.h, without bias and slopes
//   shapes     the same; scale above 0
//   launch     the same
//   edges      the same
//   arithmetic as there, but P = exp2(fma(q·k, fl(τ·fl(log2 e)), −fl(lse·fl(log2 e)))); P and dS are rounded to the
//              storage format before the products with dO, k and q; dS is formed of the unrounded P
//   source     Dao 2023 (FlashAttention-2), csrc/flash_attn/src/softmax.h (scale_apply_exp2) and
//              flash_bwd_kernel.h (P and dS converted to the element type)
//   chosen     the source fixes the fma and the conversions; left open and chosen here: as attention_backward/two_kernels.h
#include "kernels/attention_backward/two_kernels.h"

namespace flashproof::FP_EXECUTOR {

namespace {

std::string fused_unsupported(const Problem& problem) {
  const AttentionProblem& p = std::get<BackwardProblem>(problem).forward;
  if (p.has_bias()) {
    return "bias: the scale is folded into the exponent, legal: none";
  }
  if (!(p.scale > 0)) {
    return "scale: it is folded into the exponent, legal: above 0";
  }
  return backward::tile_unsupported(problem);
}

constexpr BackwardArithmetic kFusedGradient = [] {
  BackwardArithmetic a = backward::kTileArithmetic;
  a.exponent = Exponent::fused;
  a.unit = ScoreUnit::raw;
  a.exp_error = kDetExp2Error;
  return a;
}();

}  // namespace

std::span<const KernelDeclaration> attention_backward_fused() {
  static const KernelDeclaration declarations[] = {
      {.id = "attention_backward.fused.hardened",
       .problem = ProblemKind::backward,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .backward = kFusedGradient,
       .weights_as_stored = true,
       .unsupported = {fused_unsupported, {Feature::window}},
       .launch = launch_backward_two_kernels<backward::Fused>,
       .workspace = backward::two_kernels_workspace},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
