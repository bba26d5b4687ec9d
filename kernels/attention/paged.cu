#include "kernels/attention/paged.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> attention_paged() {
  static const KernelDeclaration declarations[] = {
      {.id = "attention.paged.published",
       .problem = ProblemKind::attention,
       .form = Form::published,
       .formats = kStorageFormats,
       .contract = {},
       .arithmetic = kAttentionOnlineChunkArithmetic,
       .unsupported = {paged_unsupported, {Feature::window, Feature::alibi, Feature::packed, Feature::paged}},
       .launch = launch_attention_online_chunk<AttentionPublished>},
      {.id = "attention.paged.hardened",
       .problem = ProblemKind::attention,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true},
       .arithmetic = kAttentionOnlineChunkArithmetic,
       .unsupported = hardened_refusal(paged_unsupported),
       .launch = launch_attention_online_chunk<AttentionHardened>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
