#include "kernels/softmax/merge_md.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_merge_md() {
  static const KernelDeclaration declarations[] = {
      {.id = "softmax.merge_md.published",
       .problem = ProblemKind::softmax,
       .form = Form::published,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = chunk_merge_arithmetic(MergeWeights::max_sum),
       .unsupported = {},
       .launch = launch_merge_md<SoftmaxPublished>,
       .workspace = ChunkStates::workspace},
      {.id = "softmax.merge_md.hardened",
       .problem = ProblemKind::softmax,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = chunk_merge_arithmetic(MergeWeights::max_sum),
       .unsupported = {},
       .launch = launch_merge_md<SoftmaxHardened>,
       .workspace = ChunkStates::workspace},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
