#include "kernels/attention/subtract_scale.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> attention_subtract_scale() {
  static const KernelDeclaration declarations[] = {
      declaration("attention.subtract_scale.hardened", kSubtractScaleArithmetic,
                  launch_attention_deferred<AttentionSubtractScale>,
                  {.unsupported = hardened_refusal(raw_unsupported)}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
