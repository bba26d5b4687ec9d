// What the rows of the three problems are made of, shared by the tiers that work row by row: which keys have a weight,
// what special values decide by themselves, and which columns they decide.
//
//   RowKeys keys;
//   collect_keys(problem, row, flags, keys);                // classes of scores
//   if (symbolic_row(problem, keys, balls)) return balls;   // poisoned, or no key has a weight
//   ... numbers for balls.o and balls.lse, with any finite number for an infinite or NaN value ...
//   descale_values(problem, row, balls);                    // attention: times v_descale
//   mark_special_values(problem, row, keys, flags, balls);  // columns whose visible values are not all finite
//
// (Softmax and merge: the same without flags, and symbolic_row takes the row.)
//
// The rules: reference/problem/README.md, "Special values".
#pragma once

#include <cstdint>
#include <vector>

#include "reference/oracle/truth.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// Where an output row of attention comes from.
struct AttentionRow {
  std::int64_t sequence, head, query;
};
AttentionRow locate(const AttentionProblem& problem, std::int64_t output_row);

/// Which vectors of one (sequence, kv head) are finite. Each is looked at once, when it is first asked for: a window of
/// a long sequence, and a page that no key_length reaches, must not cost or be touched.
class HeadFlags {
 public:
  HeadFlags(const AttentionProblem& problem, std::int64_t sequence, std::int64_t kv_head);
  /// 0 <= j < visible_length(sequence).
  bool finite_key(std::int64_t j);
  bool finite_value(std::int64_t j);

  /// Bytes per key.
  static constexpr std::int64_t kBytes = 2;

 private:
  enum class Known : std::uint8_t { no, finite, special };

  const AttentionProblem* problem_;
  std::int64_t sequence_, kv_head_;
  std::vector<Known> key_, value_;
};

/// The keys of a row that have a weight (of a merge: its states), ascending. Reused from row to row.
struct RowKeys {
  std::vector<std::int64_t> key;
  /// Parallel to key: the sign of an infinite dot product, whose score under a softcap c is ±c; 0 for a finite one.
  /// Empty without a softcap, where such a key is hidden or poisons.
  std::vector<std::int8_t> infinite;
  bool poisoned = false;  // a visible score, or the sink, is NaN or +inf; key is then incomplete
  bool has_sink = false;  // one more score, of a key with v = 0
  double sink = 0.0;      // finite

  void clear();
};

/// O(keys) where q and k are finite: only the special ones cost a dot product, for its class.
void collect_keys(const AttentionProblem& problem, const AttentionRow& row, HeadFlags& flags, RowKeys& keys);
void collect_keys(const SoftmaxProblem& problem, std::int64_t row, RowKeys& keys);
void collect_keys(const MergeProblem& problem, std::int64_t row, RowKeys& keys);

/// If special values decide the whole row, fills `balls` (o, lse, Tier::symbolic) and returns true.
bool symbolic_row(const AttentionProblem& problem, const RowKeys& keys, RowBalls& balls);
bool symbolic_row(const SoftmaxProblem& problem, std::int64_t row, const RowKeys& keys, RowBalls& balls);
bool symbolic_row(const MergeProblem& problem, std::int64_t row, const RowKeys& keys, RowBalls& balls);

/// balls.o of Σ p v to those of v_descale·Σ p v.
void descale_values(const AttentionProblem& problem, const AttentionRow& row, RowBalls& balls);
/// Overwrites the elements of balls.o to which a value that is NaN or ±inf contributes, with the class that v_descale makes of
/// it. Softmax has no values.
void mark_special_values(const AttentionProblem& problem, const AttentionRow& row, const RowKeys& keys,
                         HeadFlags& flags, RowBalls& balls);
void mark_special_values(const MergeProblem& problem, std::int64_t row, const RowKeys& keys, RowBalls& balls);

}  // namespace flashproof
