#include "reference/bound/attention/attention_input.h"

#include <algorithm>

namespace flashproof::bound {

std::int64_t AttentionInput::place(std::int64_t i, std::int64_t first) const {
  const std::int64_t block = first / kKeyBlock * kKeyBlock;
  return block * kBlock + i * std::min(kKeyBlock, head_.keys - block) + (first - block);
}

void AttentionInput::load_head(std::int64_t s, std::int64_t kv) {
  sequence_ = s;
  kv_head_ = kv;
  head_.load(p_, s, kv);
  tables_.clear();
  for (std::int64_t at = 0; at < head_.keys; at += kKeyBlock) {
    const std::int64_t keys = std::min(kKeyBlock, head_.keys - at);
    tables_.emplace_back(Matrix{head_.k.data() + at * p_.head_dim(), keys, p_.head_dim()});
  }
  dot_.resize(kBlock * head_.keys);
  size_.resize(kBlock * head_.keys);
}

void AttentionInput::load_queries(std::int64_t h, std::int64_t first, std::int64_t count) {
  head_index_ = h;
  first_ = first;
  const std::int64_t d = p_.head_dim();
  const double normal = min_normal(p_.q.format);
  q_.resize(kBlock * d);
  std::int64_t begin = head_.keys, end = 0;
  for (std::int64_t r = 0; r < count; ++r) {
    const std::int64_t at = p_.q_offset(sequence_, h, first + r);
    decode_row(p_.q, at, p_.q.stride[3], d, &q_[r * d]);
    const KeySize size = size_of(&q_[r * d], d, normal);
    queries_[r] = {.sum = size.sum, .largest = size.largest, .tiny = size.tiny};
    const AttentionProblem::Keys keys = p_.visible_keys(sequence_, first + r);
    begin = std::min(begin, keys.first);
    end = std::max(end, keys.last);
  }
  for (std::size_t b = 0; b < tables_.size(); ++b) {
    const std::int64_t at = static_cast<std::int64_t>(b) * kKeyBlock;
    if (at >= end || at + kKeyBlock <= begin) continue;
    dots({q_.data(), count, d}, tables_[b], dot_.data() + at * kBlock, size_.data() + at * kBlock);
  }
}

}  // namespace flashproof::bound
