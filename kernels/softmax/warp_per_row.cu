#include "kernels/softmax/warp_per_row.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_warp_per_row() {
  static const KernelDeclaration declarations[] = {
      declaration("softmax.warp_per_row.hardened", kWarpPerRowArithmetic, launch_warp_per_row<SoftmaxHardened>,
                  {.unsupported = warp_per_row_unsupported}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
