#include "kernels/merge/pairwise_tree.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> merge_pairwise_tree() {
  static const KernelDeclaration declarations[] = {
      {.id = "merge.pairwise_tree.hardened",
       .problem = ProblemKind::merge,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = stable_arithmetic(Reduction::pairwise_tree),
       .unsupported = {too_many_states, {Feature::joins}},
       .launch = launch_tree<Stable>,
       .workspace = tree_workspace},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
