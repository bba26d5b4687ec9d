#include "kernels/softmax/split_row.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_split_row() {
  static const KernelDeclaration declarations[] = {
      declaration("softmax.split_row.hardened", kSplitRowArithmetic, launch_split_row<SoftmaxHardened>,
                  {.workspace = SplitStates::workspace}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
