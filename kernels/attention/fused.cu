#include "kernels/attention/fused.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> attention_fused() {
  static const KernelDeclaration declarations[] = {
      {.id = "attention.fused.hardened",
       .problem = ProblemKind::attention,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kFusedArithmetic,
       .unsupported = hardened_refusal(raw_unsupported),
       .launch = launch_attention_deferred<AttentionFused>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
