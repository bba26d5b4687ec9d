#include "kernels/softmax/merge_md.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_merge_md() {
  static const KernelDeclaration declarations[] = {
      declaration("softmax.merge_md.published", chunk_merge_arithmetic(MergeWeights::max_sum),
                  launch_merge_md<SoftmaxPublished>, {.workspace = ChunkStates::workspace}),
      declaration("softmax.merge_md.hardened", chunk_merge_arithmetic(MergeWeights::max_sum),
                  launch_merge_md<SoftmaxHardened>, {.workspace = ChunkStates::workspace}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
