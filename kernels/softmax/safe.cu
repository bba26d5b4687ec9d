#include "kernels/softmax/safe.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_safe() {
  static const KernelDeclaration declarations[] = {
      {.id = "softmax.safe.published",
       .problem = ProblemKind::softmax,
       .form = Form::published,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = whole_row_arithmetic<Safe>(),
       .unsupported = {},
       .launch = launch_whole_row<SoftmaxPublished, Safe>},
      {.id = "softmax.safe.hardened",
       .problem = ProblemKind::softmax,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = whole_row_arithmetic<Safe>(),
       .unsupported = {},
       .launch = launch_whole_row<SoftmaxHardened, Safe>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
