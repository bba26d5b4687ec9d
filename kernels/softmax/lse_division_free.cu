#include "kernels/softmax/lse_division_free.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_lse_division_free() {
  static const KernelDeclaration declarations[] = {
      {.id = "softmax.lse_division_free.published",
       .problem = ProblemKind::softmax,
       .form = Form::published,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = whole_row_arithmetic<LseDivisionFree>(),
       .unsupported = {},
       .launch = launch_whole_row<SoftmaxPublished, LseDivisionFree>},
      {.id = "softmax.lse_division_free.hardened",
       .problem = ProblemKind::softmax,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = whole_row_arithmetic<LseDivisionFree>(),
       .unsupported = {},
       .launch = launch_whole_row<SoftmaxHardened, LseDivisionFree>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
