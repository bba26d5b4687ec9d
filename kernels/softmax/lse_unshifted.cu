#include "kernels/softmax/lse_unshifted.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_lse_unshifted() {
  static const KernelDeclaration declarations[] = {
      {.id = "softmax.lse_unshifted.published",
       .problem = ProblemKind::softmax,
       .form = Form::published,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = whole_row_arithmetic<LseUnshifted>(),
       .unsupported = {},
       .launch = launch_whole_row<SoftmaxPublished, LseUnshifted>},
      {.id = "softmax.lse_unshifted.hardened",
       .problem = ProblemKind::softmax,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true, .refuses_beyond_range = true},
       .arithmetic = whole_row_arithmetic<LseUnshifted>(),
       .unsupported = {},
       .launch = launch_whole_row<SoftmaxHardened, LseUnshifted>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
