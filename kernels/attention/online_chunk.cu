#include "kernels/attention/online_chunk.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> attention_online_chunk() {
  static const KernelDeclaration declarations[] = {
      {.id = "attention.online_chunk.published",
       .problem = ProblemKind::attention,
       .form = Form::published,
       .formats = kStorageFormats,
       .contract = {},
       .arithmetic = kAttentionOnlineChunkArithmetic,
       .unsupported = published_refusal(),
       .launch = launch_attention_online_chunk<AttentionPublished>},
      {.id = "attention.online_chunk.hardened",
       .problem = ProblemKind::attention,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kAttentionOnlineChunkArithmetic,
       .unsupported = hardened_refusal(),
       .launch = launch_attention_online_chunk<AttentionHardened>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
