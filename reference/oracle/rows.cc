#include "reference/oracle/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/oracle/descale.h"
#include "reference/oracle/environment_guard.h"
#include "reference/oracle/symbolic.h"

namespace flashproof {
namespace {

double element(const Tensor& tensor, std::int64_t offset, std::int64_t c) {
  return decode(tensor.format, tensor.bits(offset + c * tensor.stride.back()));
}

bool finite_vector(const Tensor& tensor, std::int64_t offset) {
  const std::int64_t depth = tensor.shape.back();
  for (std::int64_t c = 0; c < depth; ++c) {
    if (!std::isfinite(element(tensor, offset, c))) return false;
  }
  return true;
}

/// In plain doubles: only its class is used.
double class_of_dot(const Tensor& q, std::int64_t q_offset, const Tensor& k, std::int64_t k_offset) {
  const std::int64_t depth = q.shape.back();
  double sum = 0.0;
  for (std::int64_t c = 0; c < depth; ++c) sum += element(q, q_offset, c) * element(k, k_offset, c);
  return sum;
}

void add_sink(double score, RowKeys& keys) {
  const ScoreClass score_class = classify_score(score);
  keys.has_sink = score_class == ScoreClass::finite;
  if (keys.has_sink) keys.sink = score;
  if (score_class == ScoreClass::poison) keys.poisoned = true;
}

double score_of_state(const MergeProblem& problem, std::int64_t state, std::int64_t row) {
  const double lse = problem.lse.at({state, row});
  return problem.has_l() ? state_score(lse, problem.l.at({state, row})) : lse;
}

void add_score(double score, std::int64_t key, RowKeys& keys) {
  const ScoreClass score_class = classify_score(score);
  if (score_class == ScoreClass::finite) keys.key.push_back(key);
  if (score_class == ScoreClass::poison) keys.poisoned = true;
}

void fill(RowBalls& balls, std::int64_t width, const Ball& o, const Ball& lse) {
  balls.o.assign(static_cast<std::size_t>(width), o);
  balls.lse = lse;
  balls.tier = Tier::symbolic;
  balls.bits = 0;
}

/// No key has a weight, and no sink.
void fill_empty(RowBalls& balls, std::int64_t width) { fill(balls, width, zero_ball(), special_ball(kNegInf)); }

}  // namespace

AttentionRow locate(const AttentionProblem& problem, std::int64_t output_row) {
  const std::int64_t length = problem.q_length();
  const std::int64_t query = output_row % length;
  const std::int64_t head = output_row / length % problem.q_heads();
  if (!problem.packed()) return {output_row / length / problem.q_heads(), head, query};
  // The last sequence that begins at or before the token; empty sequences own no token.
  const auto next = std::upper_bound(problem.q_start.begin(), problem.q_start.end(), query);
  const std::int64_t sequence = next - problem.q_start.begin() - 1;
  return {sequence, head, query - problem.q_start[sequence]};
}

HeadFlags::HeadFlags(const AttentionProblem& problem, std::int64_t sequence, std::int64_t kv_head)
    : problem_(&problem),
      sequence_(sequence),
      kv_head_(kv_head),
      key_(problem.visible_length(sequence), Known::no),
      value_(problem.visible_length(sequence), Known::no) {}

bool HeadFlags::finite_key(std::int64_t j) {
  if (key_[j] == Known::no) {
    const bool finite = finite_vector(problem_->k, problem_->k_offset(sequence_, kv_head_, j));
    key_[j] = finite ? Known::finite : Known::special;
  }
  return key_[j] == Known::finite;
}

bool HeadFlags::finite_value(std::int64_t j) {
  if (value_[j] == Known::no) {
    const bool finite = finite_vector(problem_->v, problem_->v_offset(sequence_, kv_head_, j));
    value_[j] = finite ? Known::finite : Known::special;
  }
  return value_[j] == Known::finite;
}

void RowKeys::clear() {
  key.clear();
  infinite.clear();
  poisoned = false;
  has_sink = false;
  sink = 0.0;
}

void collect_keys(const AttentionProblem& problem, const AttentionRow& row, HeadFlags& flags, RowKeys& keys) {
  const auto [s, h, i] = row;
  const std::int64_t kv = problem.kv_head(h);
  const std::int64_t q_offset = problem.q_offset(s, h, i);
  const bool finite_query = finite_vector(problem.q, q_offset);
  const bool capped = problem.softcap > 0.0F;
  const double factor = score_factor(problem, s, kv).hi;
  keys.clear();
  if (problem.has_sink()) add_sink(problem.sink.at({h}), keys);
  const auto [first, last] = problem.visible_keys(s, i);
  for (std::int64_t j = first; j < last && !keys.poisoned; ++j) {
    const double bias = problem.has_bias() ? problem.bias.at({s, h, i, j}) : 0.0;
    double dot = 0.0;
    // A hidden key's k is not even looked at.
    if (bias != -std::numeric_limits<double>::infinity() && !(finite_query && flags.finite_key(j))) {
      dot = class_of_dot(problem.q, q_offset, problem.k, problem.k_offset(s, kv, j));
    }
    const ScoreClass score_class = classify_score(factor, dot, problem.softcap, bias);
    if (score_class == ScoreClass::poison) keys.poisoned = true;
    if (score_class != ScoreClass::finite) continue;
    keys.key.push_back(j);
    if (capped) {
      const double x = factor * dot;
      const std::int8_t sign = x > 0.0 ? 1 : -1;
      keys.infinite.push_back(std::isinf(x) ? sign : std::int8_t{0});
    }
  }
}

void collect_keys(const SoftmaxProblem& problem, std::int64_t row, RowKeys& keys) {
  keys.clear();
  const std::int64_t length = problem.row_length.empty() ? problem.x.shape[1] : problem.row_length[row];
  for (std::int64_t j = 0; j < length && !keys.poisoned; ++j) add_score(problem.x.at({row, j}), j, keys);
}

void collect_keys(const MergeProblem& problem, std::int64_t row, RowKeys& keys) {
  keys.clear();
  for (std::int64_t s = 0; s < problem.o.shape[0] && !keys.poisoned; ++s) {
    add_score(score_of_state(problem, s, row), s, keys);
  }
}

bool symbolic_row(const AttentionProblem& problem, const RowKeys& keys, RowBalls& balls) {
  if (keys.poisoned) {
    fill(balls, problem.value_dim(), special_ball(kNaN), special_ball(kNaN));
    return true;
  }
  if (!keys.key.empty()) return false;
  fill_empty(balls, problem.value_dim());
  if (keys.has_sink) balls.lse = Ball{.hi = keys.sink};  // the sink's own v is 0: o = 0, lse = log e^sink
  return true;
}

bool symbolic_row(const SoftmaxProblem& problem, std::int64_t row, const RowKeys& keys, RowBalls& balls) {
  const std::int64_t cols = problem.x.shape[1];
  if (keys.poisoned) {
    const std::int64_t length = problem.row_length.empty() ? cols : problem.row_length[row];
    fill(balls, cols, special_ball(kNaN), special_ball(kNaN));
    for (std::int64_t j = 0; j < cols; ++j) {
      const bool hidden = j >= length || classify_score(problem.x.at({row, j})) == ScoreClass::hidden;
      if (hidden) balls.o[j] = zero_or_nan_ball();
    }
    return true;
  }
  if (!keys.key.empty()) return false;
  fill_empty(balls, cols);
  return true;
}

bool symbolic_row(const MergeProblem& problem, std::int64_t row, const RowKeys& keys, RowBalls& balls) {
  const std::int64_t dv = problem.o.shape[2];
  const bool concat = problem.form == MergeForm::concat;
  const std::int64_t width = concat ? problem.o.shape[0] * dv : dv;
  if (keys.poisoned) {
    fill(balls, width, special_ball(kNaN), special_ball(kNaN));
    for (std::int64_t c = 0; concat && c < width; ++c) {
      const bool empty_block = classify_score(score_of_state(problem, c / dv, row)) == ScoreClass::hidden;
      if (empty_block) balls.o[c] = zero_or_nan_ball();
    }
    return true;
  }
  if (!keys.key.empty()) return false;
  fill_empty(balls, width);
  return true;
}

void mark_special_values(const AttentionProblem& problem, const AttentionRow& row, const RowKeys& keys,
                         HeadFlags& flags, RowBalls& balls) {
  const std::int64_t kv = problem.kv_head(row.head);
  std::vector<ValueFlags> column;  // empty: every value so far is finite
  for (const std::int64_t j : keys.key) {
    if (flags.finite_value(j)) continue;
    column.resize(balls.o.size());
    const std::int64_t offset = problem.v_offset(row.sequence, kv, j);
    for (std::size_t c = 0; c < column.size(); ++c) column[c].add(element(problem.v, offset, c));
  }
  const double factor = value_factor(problem, row.sequence, kv);
  for (std::size_t c = 0; c < column.size(); ++c) {
    const std::uint8_t classes = column[c].classes();
    if (classes != kFinite) balls.o[c] = special_ball(descaled_classes(classes, factor));
  }
}

void descale_values(const AttentionProblem& problem, const AttentionRow& row, RowBalls& balls) {
  const double factor = value_factor(problem, row.sequence, problem.kv_head(row.head));
  if (factor == 1.0) return;
  for (Ball& ball : balls.o) ball = descaled(ball, factor);
}

void mark_special_values(const MergeProblem& problem, std::int64_t row, const RowKeys& keys, RowBalls& balls) {
  const std::int64_t dv = problem.o.shape[2];
  const bool concat = problem.form == MergeForm::concat;
  for (std::int64_t c = 0; c < dv; ++c) {
    ValueFlags sum;
    for (const std::int64_t s : keys.key) {
      const double value = problem.o.at({s, row, c});
      if (std::isfinite(value)) continue;
      sum.add(value);
      ValueFlags block;
      block.add(value);
      if (concat) balls.o[s * dv + c] = special_ball(block.classes());
    }
    if (!concat && sum.classes() != kFinite) balls.o[c] = special_ball(sum.classes());
  }
}

}  // namespace flashproof
