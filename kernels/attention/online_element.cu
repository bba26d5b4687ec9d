#include "kernels/attention/online_element.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> attention_online_element() {
  static const KernelDeclaration declarations[] = {
      {.id = "attention.online_element.published",
       .problem = ProblemKind::attention,
       .form = Form::published,
       .formats = kStorageFormats,
       .contract = {},
       .arithmetic = kAttentionOnlineElementArithmetic,
       .unsupported = published_refusal(),
       .launch = launch_attention_online_element<AttentionPublished>},
      {.id = "attention.online_element.hardened",
       .problem = ProblemKind::attention,
       .form = Form::hardened,
       .formats = kStorageFormats,
       .contract = {.isolates_hidden = true, .refuses_beyond_range = true},
       .arithmetic = kAttentionOnlineElementArithmetic,
       .unsupported = hardened_refusal(),
       .launch = launch_attention_online_element<AttentionHardened>},
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
