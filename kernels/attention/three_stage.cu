#include "kernels/attention/three_stage.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> attention_three_stage() {
  static const KernelDeclaration declarations[] = {
      {.id = "attention.three_stage.published",
       .problem = ProblemKind::attention,
       .form = Form::published,
       .formats = kStorageFormats,
       .contract = {},
       .arithmetic = kThreeStageArithmetic,
       .unsupported = published_refusal(resident_unsupported),
       .launch = launch_attention_three_stage<AttentionPublished>},
      {.id = "attention.three_stage.hardened",
       .problem = ProblemKind::attention,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kThreeStageArithmetic,
       .unsupported = hardened_refusal(resident_unsupported),
       .launch = launch_attention_three_stage<AttentionHardened>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
