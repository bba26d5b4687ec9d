#include "kernels/merge/states.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> merge_states() {
  static const KernelDeclaration declarations[] = {
      {.id = "merge.states.hardened",
       .problem = ProblemKind::merge,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = max_sum_arithmetic(Reduction::pairwise_fold),
       .unsupported = {too_many_states, {Feature::unnormalised}},
       .launch = launch_fold<MaxSum>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
