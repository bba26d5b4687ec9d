#include "kernels/softmax/three_pass.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_three_pass() {
  static const KernelDeclaration declarations[] = {
      declaration("softmax.three_pass.published", kThreePassArithmetic, launch_three_pass<SoftmaxPublished>,
                  {.workspace = three_pass_workspace}),
      declaration("softmax.three_pass.hardened", kThreePassArithmetic, launch_three_pass<SoftmaxHardened>,
                  {.workspace = three_pass_workspace}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
