#include "kernels/merge/states_tree.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> merge_states_tree() {
  static const KernelDeclaration declarations[] = {
      {.id = "merge.states_tree.hardened",
       .problem = ProblemKind::merge,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = max_sum_arithmetic(Reduction::pairwise_tree),
       .unsupported = {too_many_states, {Feature::unnormalised, Feature::joins}},
       .launch = launch_tree<MaxSum>,
       .workspace = tree_workspace},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
