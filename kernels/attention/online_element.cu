#include "kernels/attention/online_element.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> attention_online_element() {
  static const KernelDeclaration declarations[] = {
      declaration("attention.online_element.published", kAttentionOnlineElementArithmetic,
                  launch_attention_online_element<AttentionPublished>, {.unsupported = published_refusal()}),
      declaration("attention.online_element.hardened", kAttentionOnlineElementArithmetic,
                  launch_attention_online_element<AttentionHardened>,
                  {.unsupported = hardened_refusal(), .refuses_beyond_range = true}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
