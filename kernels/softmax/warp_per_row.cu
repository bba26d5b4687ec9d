#include "kernels/softmax/warp_per_row.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_warp_per_row() {
  static const KernelDeclaration declarations[] = {
      {.id = "softmax.warp_per_row.hardened",
       .problem = ProblemKind::softmax,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kWarpPerRowArithmetic,
       .unsupported = warp_per_row_unsupported,
       .launch = launch_warp_per_row<SoftmaxHardened>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
