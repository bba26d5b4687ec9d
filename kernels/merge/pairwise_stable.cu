#include "kernels/merge/pairwise_stable.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> merge_pairwise_stable() {
  static const KernelDeclaration declarations[] = {
      declaration("merge.pairwise_stable.hardened", stable_arithmetic(Reduction::pairwise_fold), launch_fold<Stable>,
                  {.unsupported = too_many_states}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
