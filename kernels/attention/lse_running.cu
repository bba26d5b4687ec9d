#include "kernels/attention/lse_running.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> attention_lse_running() {
  static const KernelDeclaration declarations[] = {
      declaration("attention.lse_running.published", kLseRunningArithmetic,
                  launch_attention_lse_running<AttentionPublished>, {.unsupported = published_refusal()}),
      declaration("attention.lse_running.hardened", kLseRunningArithmetic,
                  launch_attention_lse_running<AttentionHardened>, {.unsupported = hardened_refusal()}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
