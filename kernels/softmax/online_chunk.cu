#include "kernels/softmax/online_chunk.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> softmax_online_chunk() {
  static const KernelDeclaration declarations[] = {
      declaration("softmax.online_chunk.published", kSoftmaxOnlineChunkArithmetic,
                  launch_online_chunk<SoftmaxPublished>),
      declaration("softmax.online_chunk.hardened", kSoftmaxOnlineChunkArithmetic, launch_online_chunk<SoftmaxHardened>),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
