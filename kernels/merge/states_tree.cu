#include "kernels/merge/states_tree.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> merge_states_tree() {
  static const KernelDeclaration declarations[] = {
      declaration(
          "merge.states_tree.hardened", max_sum_arithmetic(Reduction::pairwise_tree), launch_tree<MaxSum>,
          {.unsupported = {too_many_states, {Feature::unnormalised, Feature::joins}}, .workspace = tree_workspace}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
