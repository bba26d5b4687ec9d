#include "kernels/attention/fused.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> attention_fused() {
  static const KernelDeclaration declarations[] = {
      declaration("attention.fused.hardened", kFusedArithmetic, launch_attention_deferred<AttentionFused>,
                  {.unsupported = hardened_refusal(raw_unsupported)}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
