#include "kernels/softmax/merge_lse_naive.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_merge_lse_naive() {
  static const KernelDeclaration declarations[] = {
      {.id = "softmax.merge_lse_naive.published",
       .problem = ProblemKind::softmax,
       .form = Form::published,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = chunk_merge_arithmetic(MergeWeights::unshifted),
       .unsupported = {},
       .launch = launch_merge_lse_naive<SoftmaxPublished>,
       .workspace = ChunkStates::workspace},
      {.id = "softmax.merge_lse_naive.hardened",
       .problem = ProblemKind::softmax,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true, .refuses_beyond_range = true},
       .arithmetic = chunk_merge_arithmetic(MergeWeights::unshifted),
       .unsupported = {},
       .launch = launch_merge_lse_naive<SoftmaxHardened>,
       .workspace = ChunkStates::workspace},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
