// Bounds of attention: every row of every head (README.md).
#include <algorithm>
#include <cmath>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "reference/bound/attention/attention_row.h"
#include "reference/bound/problem_bounds.h"
#include "reference/bound/row/theorem.h"
#include "reference/bound/vector/columns.h"
#include "reference/problem/special_values.h"

namespace flashproof::bound {

namespace {

/// Bounds of the rows of one block, all of one head.
class Block {
 public:
  Block(const AttentionRows& rows, const ValueTable& values, Bound& bound)
      : rows_(rows), values_(values), bound_(bound) {}

  void take(const AttentionRow& row, std::int64_t at) {
    bound_.lse[at] = row.lse;
    // λ − ln n <= m <= λ, and a lazy frame lies `lag` below the maximum m.
    bound_.frame[at] = (std::log(static_cast<double>(row.model.leaves.size())) + row.model.lag) * kSlack;
    ElementBound* const bounds = &bound_.o[at * bound_.width];
    double* const ranges = &bound_.range[at * bound_.width];
    if (row.model.leaves.key.back() < 0) {  // a sink and no key: there are no values to pass over
      bound_.refined +=
          column_bounds(row.model, row.weights, values_.values(), bound_.width, row.ending, bounds, ranges);
      return;
    }
    // Rows that end alike go through the values together.
    if (!pending_.empty() && !same(row.ending, ending_)) flush();
    ending_ = row.ending;
    pending_.push_back({&row.model, &row.weights, bounds, ranges});
    for (std::int64_t c = 0; c < bound_.width; ++c) {
      // The largest |v| of all keys first: the row's own is needed only where that is too large.
      if (row.accumulator.at(rows_.head().v_largest[c]).holds()) continue;
      const double largest = rows_.largest_value(row, c);
      if (largest < kInfinity && !row.accumulator.at(largest).holds())
        bound_.accumulator_outside[at * bound_.width + c] = 1;
    }
  }

  void flush() {
    bound_.refined += column_bounds(pending_, values_, ending_);
    pending_.clear();
  }

 private:
  static bool same(const EndingModel& a, const EndingModel& b) {
    return a.log_units == b.log_units && a.underflow == b.underflow;
  }

  const AttentionRows& rows_;
  const ValueTable& values_;
  Bound& bound_;
  EndingModel ending_;
  std::vector<RowToBound> pending_;
};

/// Bounds and ranges of `count` rows of Σ p v to those of v_descale·Σ p v.
void descale(const AttentionRows& rows, std::int64_t first, std::int64_t count, Bound& bound) {
  for (std::int64_t at = first * bound.width; at < (first + count) * bound.width; ++at) {
    bound.o[at] = rows.descaled(bound.o[at]);
    // Times 0 the range says nothing of the result, which is exact.
    if (rows.value_factor() != 0) bound.range[at] *= std::fabs(rows.value_factor());
  }
}

/// The bounds by one declaration, block by block of the input.
class ByArithmetic {
 public:
  ByArithmetic(const AttentionProblem& p, const Arithmetic& arithmetic, const AttentionInput& input)
      : p_(p),
        rows_(p, arithmetic, input),
        built_(AttentionInput::kBlock),
        bound_(zero_bound(p.batch() * p.q_heads() * p.q_length(), p.value_dim())) {}

  void use_head() { rows_.use_head(); }
  /// Of the loaded block, whose rows are those of the output from `at` on.
  void take_block(std::int64_t at, std::int64_t count, const ValueTable& values) {
    Block block(rows_, values, bound_);
    for (std::int64_t i = 0; i < count; ++i) {
      AttentionRow& row = built_[static_cast<std::size_t>(i)];
      const bool weighted = rows_.build(i, row);
      for (const Precondition& precondition : row.preconditions) bound_.domain[at + i].require(precondition);
      if (weighted) block.take(row, at + i);
    }
    block.flush();
    if (!p_.v_descale.shape.empty()) descale(rows_, at, count, bound_);
  }
  Bound& bound() { return bound_; }

 private:
  const AttentionProblem& p_;
  AttentionRows rows_;
  std::vector<AttentionRow> built_;
  Bound bound_;
};

}  // namespace

std::vector<Bound> attention_bounds(const AttentionProblem& p, std::span<const Arithmetic> arithmetics) {
  AttentionInput input(p);
  std::deque<ByArithmetic> each;  // which refer to what they own
  for (const Arithmetic& one : arithmetics) each.emplace_back(p, one, input);
  const std::int64_t group = p.q_heads() / p.k_heads();
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    const std::int64_t queries = p.q_length(s);
    if (queries == 0) continue;
    for (std::int64_t kv = 0; kv < p.k_heads(); ++kv) {
      input.load_head(s, kv);
      for (ByArithmetic& one : each) one.use_head();
      const ValueTable values(input.head().v.data(), input.head().keys, p.value_dim());
      for (std::int64_t h = kv * group; h < (kv + 1) * group; ++h) {
        for (std::int64_t first = 0; first < queries; first += AttentionInput::kBlock) {
          const std::int64_t count = std::min(AttentionInput::kBlock, queries - first);
          input.load_queries(h, first, count);
          for (ByArithmetic& one : each) one.take_block(p.output_row(s, h, first), count, values);
        }
      }
    }
  }
  std::vector<Bound> bounds;
  bounds.reserve(each.size());
  for (ByArithmetic& one : each) bounds.push_back(std::move(one.bound()));
  return bounds;
}

std::vector<Precondition> attention_preconditions(const AttentionProblem& p, const Arithmetic& arithmetic,
                                                  std::int64_t index) {
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t h = 0; h < p.q_heads(); ++h) {
      const std::int64_t query = index - p.output_row(s, h, 0);
      if (query < 0 || query >= p.q_length(s)) continue;
      AttentionInput input(p);
      AttentionRows rows(p, arithmetic, input);
      AttentionRow row;
      input.load_head(s, p.kv_head(h));
      input.load_queries(h, query, 1);
      rows.use_head();
      if (!rows.build(0, row)) return row.preconditions;
      double largest = 0;
      for (std::int64_t c = 0; c < p.value_dim(); ++c) {
        const double column = rows.largest_value(row, c);
        largest = column < kInfinity ? std::max(largest, column) : largest;
      }
      row.preconditions.push_back(row.accumulator.at(largest));
      return row.preconditions;
    }
  }
  return {};
}

}  // namespace flashproof::bound
