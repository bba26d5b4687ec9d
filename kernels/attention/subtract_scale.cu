#include "kernels/attention/subtract_scale.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> attention_subtract_scale() {
  static const KernelDeclaration declarations[] = {
      {.id = "attention.subtract_scale.hardened",
       .problem = ProblemKind::attention,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kSubtractScaleArithmetic,
       .unsupported = hardened_refusal(raw_unsupported),
       .launch = launch_attention_deferred<AttentionSubtractScale>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
