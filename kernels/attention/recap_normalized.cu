#include "kernels/attention/recap_normalized.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> attention_recap_normalized() {
  static const KernelDeclaration declarations[] = {
      {.id = "attention.recap_normalized.published",
       .problem = ProblemKind::attention,
       .form = Form::published,
       .formats = kStorageFormats,
       .contract = {},
       .arithmetic = kRecapNormalizedArithmetic,
       .unsupported = published_refusal(),
       .launch = launch_attention_recap_normalized<AttentionPublished>},
      {.id = "attention.recap_normalized.hardened",
       .problem = ProblemKind::attention,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kRecapNormalizedArithmetic,
       .unsupported = hardened_refusal(),
       .launch = launch_attention_recap_normalized<AttentionHardened>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
