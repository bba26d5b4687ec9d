#include "kernels/merge/ring_update.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> merge_ring_update() {
  static const KernelDeclaration declarations[] = {
      {.id = "merge.ring_update.published",
       .problem = ProblemKind::merge,
       .form = Form::published,
       .formats = kStorageFormats,
       .contract = {},
       .arithmetic = kRingUpdateArithmetic,
       .unsupported = ring_update_unsupported<MergePublished>,
       .launch = launch_fold<Running<MergePublished>>},
      {.id = "merge.ring_update.hardened",
       .problem = ProblemKind::merge,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kRingUpdateArithmetic,
       .unsupported = ring_update_unsupported<MergeHardened>,
       .launch = launch_fold<Running<MergeHardened>>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
