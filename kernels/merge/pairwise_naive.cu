#include "kernels/merge/pairwise_naive.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> merge_pairwise_naive() {
  static const KernelDeclaration declarations[] = {
      {.id = "merge.pairwise_naive.published",
       .problem = ProblemKind::merge,
       .form = Form::published,
       .formats = kStorageFormats,
       .contract = {},
       .arithmetic = kPairwiseNaiveArithmetic,
       .unsupported = pairwise_naive_unsupported<MergePublished>,
       .launch = launch_fold<OneSided<MergePublished>>},
      {.id = "merge.pairwise_naive.hardened",
       .problem = ProblemKind::merge,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kPairwiseNaiveArithmetic,
       .unsupported = pairwise_naive_unsupported<MergeHardened>,
       .launch = launch_fold<OneSided<MergeHardened>>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
