#include "kernels/attention/paged.h"

namespace flashproof::FP_EXECUTOR {

std::span<const KernelDeclaration> attention_paged() {
  static const KernelDeclaration declarations[] = {
      declaration(
          "attention.paged.published", kAttentionOnlineChunkArithmetic,
          launch_attention_online_chunk<AttentionPublished>,
          {.unsupported = {paged_unsupported, {Feature::window, Feature::alibi, Feature::packed, Feature::paged}}}),
      declaration("attention.paged.hardened", kAttentionOnlineChunkArithmetic,
                  launch_attention_online_chunk<AttentionHardened>,
                  {.unsupported = hardened_refusal(paged_unsupported)}),
  };
  return declarations;
}

}  // namespace flashproof::FP_EXECUTOR
