#include "kernels/merge/nway.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> merge_nway() {
  static const KernelDeclaration declarations[] = {
      declaration("merge.nway.hardened", kNwayArithmetic, launch_flat<FlatWeights::shifted>,
                  {.unsupported = too_many_states}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
