#include "kernels/softmax/eager_safe.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_eager_safe() {
  static const KernelDeclaration declarations[] = {
      declaration("softmax.eager_safe.published", kEagerSafeArithmetic, launch_eager_safe<SoftmaxPublished>,
                  {.workspace = eager_safe_workspace}),
      declaration("softmax.eager_safe.hardened", kEagerSafeArithmetic, launch_eager_safe<SoftmaxHardened>,
                  {.workspace = eager_safe_workspace}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
