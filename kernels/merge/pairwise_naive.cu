#include "kernels/merge/pairwise_naive.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> merge_pairwise_naive() {
  static const KernelDeclaration declarations[] = {
      declaration("merge.pairwise_naive.published", kPairwiseNaiveArithmetic, launch_fold<OneSided<MergePublished>>,
                  {.unsupported = pairwise_naive_unsupported<MergePublished>}),
      declaration("merge.pairwise_naive.hardened", kPairwiseNaiveArithmetic, launch_fold<OneSided<MergeHardened>>,
                  {.unsupported = pairwise_naive_unsupported<MergeHardened>}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
