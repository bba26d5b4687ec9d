#include "kernels/softmax/online_element.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_online_element() {
  static const KernelDeclaration declarations[] = {
      {.id = "softmax.online_element.published",
       .problem = ProblemKind::softmax,
       .form = Form::published,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kSoftmaxOnlineElementArithmetic,
       .unsupported = {},
       .launch = launch_online_element<SoftmaxPublished>},
      {.id = "softmax.online_element.hardened",
       .problem = ProblemKind::softmax,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kSoftmaxOnlineElementArithmetic,
       .unsupported = {},
       .launch = launch_online_element<SoftmaxHardened>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
