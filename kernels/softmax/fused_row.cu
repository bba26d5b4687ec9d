#include "kernels/softmax/fused_row.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_fused_row() {
  static const KernelDeclaration declarations[] = {
      declaration("softmax.fused_row.published", kFusedRowArithmetic, launch_fused_row<SoftmaxPublished>,
                  {.unsupported = fused_row_unsupported}),
      declaration("softmax.fused_row.hardened", kFusedRowArithmetic, launch_fused_row<SoftmaxHardened>,
                  {.unsupported = fused_row_unsupported}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
