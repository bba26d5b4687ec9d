#include "kernels/softmax/three_pass.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_three_pass() {
  static const KernelDeclaration declarations[] = {
      {.id = "softmax.three_pass.published",
       .problem = ProblemKind::softmax,
       .form = Form::published,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kThreePassArithmetic,
       .unsupported = {},
       .launch = launch_three_pass<SoftmaxPublished>,
       .workspace = three_pass_workspace},
      {.id = "softmax.three_pass.hardened",
       .problem = ProblemKind::softmax,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kThreePassArithmetic,
       .unsupported = {},
       .launch = launch_three_pass<SoftmaxHardened>,
       .workspace = three_pass_workspace},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
