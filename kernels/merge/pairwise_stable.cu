#include "kernels/merge/pairwise_stable.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> merge_pairwise_stable() {
  static const KernelDeclaration declarations[] = {
      {.id = "merge.pairwise_stable.hardened",
       .problem = ProblemKind::merge,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = stable_arithmetic(Reduction::pairwise_fold),
       .unsupported = too_many_states,
       .launch = launch_fold<Stable>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
