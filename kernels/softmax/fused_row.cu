#include "kernels/softmax/fused_row.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_fused_row() {
  static const KernelDeclaration declarations[] = {
      {.id = "softmax.fused_row.published",
       .problem = ProblemKind::softmax,
       .form = Form::published,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kFusedRowArithmetic,
       .unsupported = fused_row_unsupported,
       .launch = launch_fused_row<SoftmaxPublished>},
      {.id = "softmax.fused_row.hardened",
       .problem = ProblemKind::softmax,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kFusedRowArithmetic,
       .unsupported = fused_row_unsupported,
       .launch = launch_fused_row<SoftmaxHardened>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
