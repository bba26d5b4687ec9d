#include "kernels/attention/online_chunk_split.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> attention_online_chunk_split() {
  static const KernelDeclaration declarations[] = {
      {.id = "attention.online_chunk_split.published",
       .problem = ProblemKind::attention,
       .form = Form::published,
       .formats = kStorageFormats,
       .contract = {},
       .arithmetic = kOnlineChunkSplitArithmetic,
       .unsupported = published_refusal(),
       .launch = launch_attention_online_chunk_split<AttentionPublished>},
      {.id = "attention.online_chunk_split.hardened",
       .problem = ProblemKind::attention,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true, .refuses_beyond_range = true},
       .arithmetic = kOnlineChunkSplitArithmetic,
       .unsupported = hardened_refusal(),
       .launch = launch_attention_online_chunk_split<AttentionHardened>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
