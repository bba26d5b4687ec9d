#include "reference/oracle/double_double/attention_rows.h"

#include <algorithm>
#include <optional>

#include "reference/oracle/descale.h"
#include "reference/oracle/double_double/decoded_head.h"
#include "reference/oracle/double_double/weighted_row.h"
#include "reference/oracle/environment_guard.h"
#include "reference/oracle/rows.h"

namespace flashproof {
namespace {

class AttentionRows final : public RowTier {
 public:
  AttentionRows(const AttentionProblem& problem, const DdOptions& options)
      : problem_(problem), options_(options), head_(problem, options.head_bytes) {
    query_.resize(problem.head_dim());
  }

  RowBalls row(std::int64_t row, Tier tier, int bits) override;

 private:
  /// A part of one chunk, in whole blocks of keys.
  struct Part {
    std::int64_t chunk, from, count;  // of the chunk; `from` in keys from its beginning
    std::int64_t position;            // of its first key in numbers_
  };

  void select_head(const AttentionRow& row);
  void lay_out();
  void fill_scores(const AttentionRow& row);
  void fill_bias(const AttentionRow& row);
  void hide_others();
  void sum_values(bool in_dd, std::int64_t run);

  const AttentionProblem& problem_;
  DdOptions options_;
  DecodedHead head_;
  std::optional<HeadFlags> flags_;
  std::int64_t sequence_ = -1, kv_head_ = -1;  // of flags_

  RowKeys keys_;
  std::int64_t first_ = 0, positions_ = 0;  // key first_ + p stands at position p < positions_; then the sink's block
  std::vector<Part> parts_;
  AlignedDoubles query_, bias_, quantum_;
  RowNumbers numbers_;
  ColumnSums sums_;
};

void AttentionRows::select_head(const AttentionRow& row) {
  const std::int64_t kv = problem_.kv_head(row.head);
  head_.select(row.sequence, kv);
  if (flags_ && row.sequence == sequence_ && kv == kv_head_) return;
  flags_.emplace(problem_, row.sequence, kv);
  sequence_ = row.sequence;
  kv_head_ = kv;
}

/// Positions for the blocks of keys from the first to the last one with a weight, cut at the chunks.
void AttentionRows::lay_out() {
  first_ = keys_.key.front() / kBlock * kBlock;
  positions_ = round_up_to_block(keys_.key.back() + 1) - first_;
  parts_.clear();
  const std::int64_t chunk_keys = head_.chunk_keys();
  for (std::int64_t p = 0; p < positions_;) {
    const std::int64_t key = first_ + p;
    const std::int64_t from = key % chunk_keys;
    const std::int64_t count = std::min(positions_ - p, chunk_keys - from);
    parts_.push_back({key / chunk_keys, from, count, p});
    p += count;
  }
  numbers_.reset(positions_ + (keys_.has_sink ? kBlock : 0));
}

void AttentionRows::fill_bias(const AttentionRow& row) {
  bias_.assign(numbers_.size(), 0.0);
  for (const std::int64_t j : keys_.key) {
    bias_[j - first_] = problem_.bias.at({row.sequence, row.head, row.query, j});
  }
}

/// Positions that are no key of this row, and the sink.
void AttentionRows::hide_others() {
  std::int64_t p = 0;
  for (const std::int64_t j : keys_.key) {
    for (; p < j - first_; ++p) numbers_.hide(p);
    ++p;
  }
  for (; p < numbers_.size(); ++p) numbers_.hide(p);
  if (keys_.has_sink) numbers_.hi[positions_] = keys_.sink;
}

void AttentionRows::fill_scores(const AttentionRow& row) {
  const std::int64_t depth = problem_.head_dim();
  decode_vector(problem_.q, problem_.q_offset(row.sequence, row.head, row.query), depth, query_.data());
  quantum_.assign(numbers_.size(), 1.0);
  for (RowNumbers& n = numbers_; const Part& part : parts_) {
    const double* const keys = head_.keys(part.chunk) + part.from * depth;
    const std::int64_t at = part.position;
    dot_keys(keys, part.count / kBlock, query_.data(), depth, &n.hi[at], &n.lo[at], &n.error[at]);
    std::copy_n(head_.key_quantum() + part.from, part.count, &quantum_[at]);
  }
  for (std::int64_t p = positions_; p < numbers_.size(); ++p) numbers_.hi[p] = 0.0;
  ScoreRule rule;
  const ScoreFactor factor = score_factor(problem_, row.sequence, kv_head_);
  rule.scale = factor.hi;
  rule.scale_low = factor.lo;
  if (problem_.has_bias()) {
    fill_bias(row);
    rule.bias = bias_.data();
  }
  if (problem_.has_alibi()) rule.slope = problem_.alibi.at({row.sequence, row.head});
  rule.beside = row.query + problem_.k_length(row.sequence) - problem_.q_length(row.sequence);
  rule.first = first_;
  rule.depth = depth;
  rule.query_quantum = quantum(query_.data(), depth);
  rule.key_quantum = quantum_.data();
  score_keys(rule, options_.terms, numbers_);
  hide_others();
}

void AttentionRows::sum_values(bool in_dd, std::int64_t run) {
  sums_.reset(round_up_to_block(problem_.value_dim()));
  const std::int64_t capacity = head_.chunk_keys();
  for (const Part& part : parts_) {
    const double* const values = head_.values(part.chunk) + part.from * kBlock;
    if (in_dd) {
      add_values_dd(numbers_, part.position, part.count, values, capacity, sums_);
    } else {
      add_values_fp64(numbers_, part.position, part.count, run, values, capacity, sums_);
    }
  }
}

RowBalls AttentionRows::row(std::int64_t output_row, Tier tier, int /*bits*/) {
  const AttentionRow row = locate(problem_, output_row);
  select_head(row);
  collect_keys(problem_, row, *flags_, keys_);
  RowBalls balls;
  if (symbolic_row(problem_, keys_, balls)) return balls;

  const bool in_dd = tier == Tier::dd;
  lay_out();
  fill_scores(row);
  // A value goes through at most `run` roundings of its run, and one for each later run; w = 0 rounds nothing.
  std::int64_t run = 32;
  while (run * run < positions_) run *= 2;
  std::int64_t runs = 0;
  for (const Part& part : parts_) runs += (part.count + run - 1) / run;
  const std::int64_t of_run = std::min(run, static_cast<std::int64_t>(keys_.key.size()));
  const double roundings = in_dd ? -1.0 : static_cast<double>(of_run + runs - 1);
  const WeightSum sum = weigh(numbers_, roundings, options_.terms);
  sum_values(in_dd, run);

  std::vector<double> top(problem_.value_dim(), 0.0);
  if (sum.top < positions_) {  // else the sink, whose value is 0
    const std::int64_t key = first_ + sum.top;
    decode_vector(problem_.v, problem_.v_offset(row.sequence, kv_head_, key), problem_.value_dim(), top.data());
  }
  balls.o.resize(top.size());
  column_balls(sums_, sum, options_.terms, [&](std::size_t c) { return top[c]; }, balls.o);
  balls.lse = lse_ball(sum, options_.terms);
  balls.tier = tier;
  descale_values(problem_, row, balls);
  mark_special_values(problem_, row, keys_, *flags_, balls);
  return balls;
}

}  // namespace

std::unique_ptr<RowTier> dd_attention(const AttentionProblem& problem, const DdOptions& options) {
  return std::make_unique<AttentionRows>(problem, options);
}

std::int64_t dd_attention_bytes(const AttentionProblem& problem, const DdOptions& options) {
  // Per key: four of RowNumbers, bias, quantum, and the list of keys, which grows by doubling (old and new at once).
  constexpr std::int64_t kPerKey = 6 * sizeof(double) + 3 * sizeof(std::int64_t) + HeadFlags::kBytes;
  // Per column: four sums, the top value, the ball.
  constexpr std::int64_t kPerColumn = 5 * sizeof(double) + sizeof(Ball);
  const std::int64_t chunks = problem.k_length() / DecodedHead::chunk_keys(problem, options.head_bytes) + 2;
  constexpr std::int64_t kPerChunk = 3 * 4 * sizeof(std::int64_t);  // a Part, doubling
  return DecodedHead::bytes(problem, options.head_bytes) + (problem.k_length() + 4 * kBlock) * kPerKey +
         round_up_to_block(problem.value_dim()) * kPerColumn + problem.head_dim() * std::int64_t{sizeof(double)} +
         chunks * kPerChunk;
}

}  // namespace flashproof
