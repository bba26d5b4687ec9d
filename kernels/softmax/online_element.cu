#include "kernels/softmax/online_element.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_online_element() {
  static const KernelDeclaration declarations[] = {
      declaration("softmax.online_element.published", kSoftmaxOnlineElementArithmetic,
                  launch_online_element<SoftmaxPublished>),
      declaration("softmax.online_element.hardened", kSoftmaxOnlineElementArithmetic,
                  launch_online_element<SoftmaxHardened>),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
