#include "kernels/softmax/naive.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_naive() {
  static const KernelDeclaration declarations[] = {
      {.id = "softmax.naive.published",
       .problem = ProblemKind::softmax,
       .form = Form::published,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = whole_row_arithmetic<Naive>(),
       .unsupported = {},
       .launch = launch_whole_row<SoftmaxPublished, Naive>},
      {.id = "softmax.naive.hardened",
       .problem = ProblemKind::softmax,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true, .refuses_beyond_range = true},
       .arithmetic = whole_row_arithmetic<Naive>(),
       .unsupported = {},
       .launch = launch_whole_row<SoftmaxHardened, Naive>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
