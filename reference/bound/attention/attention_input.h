// What the rows of a block are made of, whatever the arithmetic is: the bounds of several declarations share it.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/bound/attention/attention_scores.h"
#include "reference/bound/row/sums.h"

namespace flashproof::bound {

/// load_head(), then load_queries() for a block of its rows.
class AttentionInput {
 public:
  static constexpr std::int64_t kBlock = 8;        // query rows per pass over the keys
  static constexpr std::int64_t kKeyBlock = 1024;  // keys per table: a row asks only for the blocks that it sees

  explicit AttentionInput(const AttentionProblem& p) : p_(p) {}

  void load_head(std::int64_t s, std::int64_t kv);
  /// Rows [first, first + count) of head h of the loaded sequence, count <= kBlock.
  void load_queries(std::int64_t h, std::int64_t first, std::int64_t count);

  const AttentionHead& head() const { return head_; }
  std::int64_t sequence() const { return sequence_; }
  std::int64_t kv_head() const { return kv_head_; }
  std::int64_t head_index() const { return head_index_; }
  /// Row i of the block: which query it is, its numbers, their sizes.
  std::int64_t query(std::int64_t i) const { return first_ + i; }
  const double* q(std::int64_t i) const { return &q_[i * p_.head_dim()]; }
  const QueryRow& sizes(std::int64_t i) const { return queries_[i]; }
  /// Its products with the keys from `first` to the end of their table, and Σ|q k| of each.
  const double* dot(std::int64_t i, std::int64_t first) const { return &dot_[place(i, first)]; }
  const double* size(std::int64_t i, std::int64_t first) const { return &size_[place(i, first)]; }

 private:
  std::int64_t place(std::int64_t i, std::int64_t first) const;

  const AttentionProblem& p_;
  AttentionHead head_;
  std::vector<KeyTable> tables_;
  std::int64_t sequence_ = 0, kv_head_ = 0, head_index_ = 0, first_ = 0;
  std::vector<double> q_, dot_, size_;
  QueryRow queries_[kBlock];
};

}  // namespace flashproof::bound
