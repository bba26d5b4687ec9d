#include "kernels/attention/recap_normalized.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> attention_recap_normalized() {
  static const KernelDeclaration declarations[] = {
      declaration("attention.recap_normalized.published", kRecapNormalizedArithmetic,
                  launch_attention_recap_normalized<AttentionPublished>, {.unsupported = published_refusal()}),
      declaration("attention.recap_normalized.hardened", kRecapNormalizedArithmetic,
                  launch_attention_recap_normalized<AttentionHardened>, {.unsupported = hardened_refusal()}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
