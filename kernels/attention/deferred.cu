#include "kernels/attention/deferred.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> attention_deferred() {
  static const KernelDeclaration declarations[] = {
      {.id = "attention.deferred.hardened",
       .problem = ProblemKind::attention,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kDeferredArithmetic,
       .unsupported = hardened_refusal(),
       .launch = launch_attention_deferred<AttentionHardened>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
