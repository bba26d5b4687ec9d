#include "kernels/softmax/online_block.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_online_block() {
  static const KernelDeclaration declarations[] = {
      {.id = "softmax.online_block.published",
       .problem = ProblemKind::softmax,
       .form = Form::published,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = online_block_arithmetic<SoftmaxPublished>(),
       .unsupported = online_block_unsupported,
       .launch = launch_online_block<SoftmaxPublished>},
      {.id = "softmax.online_block.hardened",
       .problem = ProblemKind::softmax,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = online_block_arithmetic<SoftmaxHardened>(),
       .unsupported = online_block_unsupported,
       .launch = launch_online_block<SoftmaxHardened>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
