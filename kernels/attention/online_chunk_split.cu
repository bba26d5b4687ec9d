#include "kernels/attention/online_chunk_split.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> attention_online_chunk_split() {
  static const KernelDeclaration declarations[] = {
      declaration("attention.online_chunk_split.published", kOnlineChunkSplitArithmetic,
                  launch_attention_online_chunk_split<AttentionPublished>, {.unsupported = published_refusal()}),
      declaration("attention.online_chunk_split.hardened", kOnlineChunkSplitArithmetic,
                  launch_attention_online_chunk_split<AttentionHardened>,
                  {.unsupported = hardened_refusal(), .refuses_beyond_range = true}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
