#include "kernels/softmax/merge_lse_naive.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_merge_lse_naive() {
  static const KernelDeclaration declarations[] = {
      declaration("softmax.merge_lse_naive.published", chunk_merge_arithmetic(MergeWeights::unshifted),
                  launch_merge_lse_naive<SoftmaxPublished>, {.workspace = ChunkStates::workspace}),
      declaration("softmax.merge_lse_naive.hardened", chunk_merge_arithmetic(MergeWeights::unshifted),
                  launch_merge_lse_naive<SoftmaxHardened>,
                  {.workspace = ChunkStates::workspace, .refuses_beyond_range = true}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
