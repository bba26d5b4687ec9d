// attention.online_chunk over a block table: keys and values in pages of a pool, the pages of a sequence in any order.
//
//   computes   as attention/online_chunk.h
//   shapes     q (B, Hq, Sq, d) or packed; k (pages, Hk, page_size, d), v (pages, Hk, page_size, dv), page_table (B, n):
//              key j of sequence s lies in page page_table[s·n + j/page_size] at j mod page_size. Any page size; the last
//              page may be partly used; entries of unused pages may hold anything
//   launch     as attention/online_chunk.h; the page of a key is looked up as its row enters shared memory
//   edges      as attention/online_chunk.h; slots and pages that belong to no key are never read
//   arithmetic as attention/online_chunk.h: pages change no operation
//   source     seed 003, "Memory Bottleneck in Self-attention" (the fragmented problem) and its last formula; Kwon et al.
//              2023 (PagedAttention)
//   chosen     fixed by the seed: keys and values in blocks that do not adjoin. Open there and chosen here: the layout of
//              the pool; chunks of the plan need not be pages

#include <string>

#include "kernels/attention/online_chunk.h"

namespace flashproof::FP_EXECUTOR {

inline std::string paged_unsupported(const Problem& problem) {
  return std::get<AttentionProblem>(problem).paged()
             ? tile_unsupported(problem)
             : "page_table: empty, legal: a table; this kernel reads keys in pages alone";
}

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
