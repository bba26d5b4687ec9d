#include "kernels/merge/pairwise.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> merge_pairwise() {
  static const KernelDeclaration declarations[] = {
      {.id = "merge.pairwise.published",
       .problem = ProblemKind::merge,
       .form = Form::published,
       .formats = kStorageFormats,
       .contract = {},
       .arithmetic = merge_pairwise_arithmetic(MergeWeights::one_sided),
       .unsupported = merge_pairwise_unsupported<MergePublished>,
       .launch = launch_merge_pairwise<MergePublished>},
      {.id = "merge.pairwise.hardened",
       .problem = ProblemKind::merge,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = merge_pairwise_arithmetic(MergeWeights::stable),
       .unsupported = merge_pairwise_unsupported<MergeHardened>,
       .launch = launch_merge_pairwise<MergeHardened>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
