#include "kernels/attention/online_chunk.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> attention_online_chunk() {
  static const KernelDeclaration declarations[] = {
      declaration("attention.online_chunk.published", kAttentionOnlineChunkArithmetic,
                  launch_attention_online_chunk<AttentionPublished>, {.unsupported = published_refusal()}),
      declaration("attention.online_chunk.hardened", kAttentionOnlineChunkArithmetic,
                  launch_attention_online_chunk<AttentionHardened>, {.unsupported = hardened_refusal()}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
