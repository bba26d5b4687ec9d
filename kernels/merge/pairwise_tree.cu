#include "kernels/merge/pairwise_tree.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> merge_pairwise_tree() {
  static const KernelDeclaration declarations[] = {
      declaration("merge.pairwise_tree.hardened", stable_arithmetic(Reduction::pairwise_tree), launch_tree<Stable>,
                  {.unsupported = {too_many_states, {Feature::joins}}, .workspace = tree_workspace}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
