#include "kernels/merge/division_free.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> merge_division_free() {
  static const KernelDeclaration declarations[] = {
      declaration("merge.division_free.hardened", kDivisionFreeArithmetic, launch_flat<FlatWeights::division_free>,
                  {.unsupported = too_many_states}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
