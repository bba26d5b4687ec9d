#include "kernels/softmax/online_block.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_online_block() {
  static const KernelDeclaration declarations[] = {
      declaration("softmax.online_block.published", online_block_arithmetic<SoftmaxPublished>(),
                  launch_online_block<SoftmaxPublished>, {.unsupported = online_block_unsupported}),
      declaration("softmax.online_block.hardened", online_block_arithmetic<SoftmaxHardened>(),
                  launch_online_block<SoftmaxHardened>, {.unsupported = online_block_unsupported}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
