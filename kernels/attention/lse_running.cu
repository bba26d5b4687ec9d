#include "kernels/attention/lse_running.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> attention_lse_running() {
  static const KernelDeclaration declarations[] = {
      {.id = "attention.lse_running.published",
       .problem = ProblemKind::attention,
       .form = Form::published,
       .formats = kStorageFormats,
       .contract = {},
       .arithmetic = kLseRunningArithmetic,
       .unsupported = published_refusal(),
       .launch = launch_attention_lse_running<AttentionPublished>},
      {.id = "attention.lse_running.hardened",
       .problem = ProblemKind::attention,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kLseRunningArithmetic,
       .unsupported = hardened_refusal(),
       .launch = launch_attention_lse_running<AttentionHardened>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
