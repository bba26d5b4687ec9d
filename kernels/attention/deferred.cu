#include "kernels/attention/deferred.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> attention_deferred() {
  static const KernelDeclaration declarations[] = {
      declaration("attention.deferred.hardened", kDeferredArithmetic, launch_attention_deferred<AttentionHardened>,
                  {.unsupported = hardened_refusal()}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
