#include "properties/shrink/sequences.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "properties/laws/support/change.h"

namespace flashproof {

AttentionProblem one_sequence(const AttentionProblem& p, std::int64_t s, ChunkPlan plan) {
  AttentionProblem result = p;
  const auto copied = [&](const Tensor& from, std::int64_t heads, std::int64_t length, auto offset) {
    Tensor to = Tensor::dense(from.format, {1, heads, length, from.shape[3]});
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t i = 0; i < length; ++i) {
        for (std::int64_t d = 0; d < from.shape[3]; ++d) {
          to.set_bits(((h * length) + i) * from.shape[3] + d, from.bits(offset(h, i) + d * from.stride[3]));
        }
      }
    }
    return to;
  };
  const std::int64_t keys = p.visible_length(s);
  result.q = copied(p.q, p.q_heads(), p.q_length(s), [&](auto h, auto i) { return p.q_offset(s, h, i); });
  result.k = copied(p.k, p.k_heads(), keys, [&](auto h, auto j) { return p.k_offset(s, h, j); });
  result.v = copied(p.v, p.k_heads(), keys, [&](auto h, auto j) { return p.v_offset(s, h, j); });
  if (p.has_bias()) result.bias = gather(gather(p.bias, 0, std::array{s}), 3, iota(keys));
  for (Tensor* factors : {&result.alibi, &result.q_descale, &result.k_descale, &result.v_descale}) {
    if (!factors->shape.empty()) *factors = gather(*factors, 0, std::array{s});
  }
  result.key_length.clear();
  result.q_start.clear();
  result.k_start.clear();
  result.page_table.clear();
  result.plan = std::move(plan);
  return result;
}

void keep_sequences(AttentionProblem& p, std::span<const std::int64_t> kept) {
  if (!p.paged()) return keep_along(p, Axis::batch, kept);
  const std::int64_t each = p.pages_per_sequence();
  std::vector<std::int32_t> table;
  for (const std::int64_t s : kept) {
    table.insert(table.end(), p.page_table.begin() + s * each, p.page_table.begin() + (s + 1) * each);
  }
  p.page_table = std::move(table);
  Tensor k = std::exchange(p.k, {}), v = std::exchange(p.v, {});  // their axis 0 counts pages
  keep_along(p, Axis::batch, kept);
  p.k = std::move(k);
  p.v = std::move(v);
}

void keep_sequences(BackwardProblem& p, std::span<const std::int64_t> kept) { keep_along(p, Axis::batch, kept); }

void keep_first_pages(AttentionProblem& p, std::int64_t pages, ChunkPlan plan) {
  const std::int64_t each = p.pages_per_sequence(), room = pages * p.k.shape[2];
  std::vector<std::int32_t> table;
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    table.insert(table.end(), p.page_table.begin() + s * each, p.page_table.begin() + s * each + pages);
  }
  p.page_table = std::move(table);
  for (std::int32_t& length : p.key_length) length = static_cast<std::int32_t>(std::min<std::int64_t>(length, room));
  if (p.has_bias()) p.bias = gather(p.bias, 3, iota(room));
  p.plan = std::move(plan);
}

void keep_used_pages(AttentionProblem& p) {
  const std::int64_t each = p.pages_per_sequence(), size = p.k.shape[2];
  std::vector<std::int32_t*> entries;
  std::set<std::int64_t> used;
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t page = 0; page * size < p.visible_length(s); ++page) {
      entries.push_back(&p.page_table[static_cast<std::size_t>(s * each + page)]);
      used.insert(*entries.back());
    }
  }
  for (std::int32_t* entry : entries) {
    *entry = static_cast<std::int32_t>(std::distance(used.begin(), used.find(*entry)));
  }
  const std::vector<std::int64_t> kept(used.begin(), used.end());
  p.k = gather(p.k, 0, kept);
  p.v = gather(p.v, 0, kept);
}

}  // namespace flashproof
