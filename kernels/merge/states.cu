#include "kernels/merge/states.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> merge_states() {
  static const KernelDeclaration declarations[] = {
      declaration("merge.states.hardened", max_sum_arithmetic(Reduction::pairwise_fold), launch_fold<MaxSum>,
                  {.unsupported = {too_many_states, {Feature::unnormalised}}}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
