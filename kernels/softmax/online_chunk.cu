#include "kernels/softmax/online_chunk.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_online_chunk() {
  static const KernelDeclaration declarations[] = {
      {.id = "softmax.online_chunk.published",
       .problem = ProblemKind::softmax,
       .form = Form::published,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kSoftmaxOnlineChunkArithmetic,
       .unsupported = {},
       .launch = launch_online_chunk<SoftmaxPublished>},
      {.id = "softmax.online_chunk.hardened",
       .problem = ProblemKind::softmax,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kSoftmaxOnlineChunkArithmetic,
       .unsupported = {},
       .launch = launch_online_chunk<SoftmaxHardened>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
