#include "kernels/softmax/online_two_pass.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_online_two_pass() {
  static const KernelDeclaration declarations[] = {
      declaration("softmax.online_two_pass.published", kOnlineTwoPassArithmetic,
                  launch_online_two_pass<SoftmaxPublished>),
      declaration("softmax.online_two_pass.hardened", kOnlineTwoPassArithmetic,
                  launch_online_two_pass<SoftmaxHardened>),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
