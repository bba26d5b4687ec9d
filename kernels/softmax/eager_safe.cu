#include "kernels/softmax/eager_safe.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_eager_safe() {
  static const KernelDeclaration declarations[] = {
      {.id = "softmax.eager_safe.published",
       .problem = ProblemKind::softmax,
       .form = Form::published,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kEagerSafeArithmetic,
       .unsupported = {},
       .launch = launch_eager_safe<SoftmaxPublished>,
       .workspace = eager_safe_workspace},
      {.id = "softmax.eager_safe.hardened",
       .problem = ProblemKind::softmax,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kEagerSafeArithmetic,
       .unsupported = {},
       .launch = launch_eager_safe<SoftmaxHardened>,
       .workspace = eager_safe_workspace},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
