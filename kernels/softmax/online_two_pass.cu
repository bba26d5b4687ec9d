#include "kernels/softmax/online_two_pass.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_online_two_pass() {
  static const KernelDeclaration declarations[] = {
      {.id = "softmax.online_two_pass.published",
       .problem = ProblemKind::softmax,
       .form = Form::published,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kOnlineTwoPassArithmetic,
       .unsupported = {},
       .launch = launch_online_two_pass<SoftmaxPublished>},
      {.id = "softmax.online_two_pass.hardened",
       .problem = ProblemKind::softmax,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kOnlineTwoPassArithmetic,
       .unsupported = {},
       .launch = launch_online_two_pass<SoftmaxHardened>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
