#include "kernels/attention/three_stage.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> attention_three_stage() {
  static const KernelDeclaration declarations[] = {
      declaration("attention.three_stage.published", kThreeStageArithmetic,
                  launch_attention_three_stage<AttentionPublished>,
                  {.unsupported = published_refusal(resident_unsupported)}),
      declaration("attention.three_stage.hardened", kThreeStageArithmetic,
                  launch_attention_three_stage<AttentionHardened>,
                  {.unsupported = hardened_refusal(resident_unsupported)}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
