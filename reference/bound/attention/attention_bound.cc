// Bounds of attention: every row of every head (README.md).
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/bound/attention/attention_row.h"
#include "reference/bound/problem_bounds.h"
#include "reference/bound/row/theorem.h"
#include "reference/bound/vector/columns.h"

namespace flashproof::bound {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

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
      if (largest < kInf && !row.accumulator.at(largest).holds()) bound_.accumulator_outside[at * bound_.width + c] = 1;
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

}  // namespace

Bound attention_bound(const AttentionProblem& p, const Arithmetic& arithmetic) {
  const std::int64_t width = p.value_dim();
  Bound bound = zero_bound(p.batch() * p.q_heads() * p.q_length(), width);
  AttentionRows rows(p, arithmetic);
  std::vector<AttentionRow> built(AttentionRows::kBlock);
  const std::int64_t group = p.q_heads() / p.k_heads();
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    const std::int64_t queries = p.q_length(s);
    if (queries == 0) continue;
    for (std::int64_t kv = 0; kv < p.k_heads(); ++kv) {
      rows.load_head(s, kv);
      const ValueTable values(rows.head().v.data(), rows.head().keys, width);
      for (std::int64_t h = kv * group; h < (kv + 1) * group; ++h) {
        for (std::int64_t first = 0; first < queries; first += AttentionRows::kBlock) {
          const std::int64_t count = std::min(AttentionRows::kBlock, queries - first);
          rows.load_queries(h, first, count);
          Block block(rows, values, bound);
          for (std::int64_t i = 0; i < count; ++i) {
            AttentionRow& row = built[static_cast<std::size_t>(i)];
            const std::int64_t at = p.output_row(s, h, first) + i;
            const bool weighted = rows.build(i, row);
            for (const Precondition& precondition : row.preconditions) bound.domain[at].require(precondition);
            if (weighted) block.take(row, at);
          }
          block.flush();
          if (!p.v_descale.shape.empty()) descale(rows, p.output_row(s, h, first), count, bound);
        }
      }
    }
  }
  return bound;
}

std::vector<Precondition> attention_preconditions(const AttentionProblem& p, const Arithmetic& arithmetic,
                                                  std::int64_t index) {
  for (std::int64_t s = 0; s < p.sequences(); ++s) {
    for (std::int64_t h = 0; h < p.q_heads(); ++h) {
      const std::int64_t query = index - p.output_row(s, h, 0);
      if (query < 0 || query >= p.q_length(s)) continue;
      AttentionRows rows(p, arithmetic);
      AttentionRow row;
      rows.load_head(s, p.kv_head(h));
      rows.load_queries(h, query, 1);
      if (!rows.build(0, row)) return row.preconditions;
      double largest = 0;
      for (std::int64_t c = 0; c < p.value_dim(); ++c) {
        const double column = rows.largest_value(row, c);
        largest = column < kInf ? std::max(largest, column) : largest;
      }
      row.preconditions.push_back(row.accumulator.at(largest));
      return row.preconditions;
    }
  }
  return {};
}

}  // namespace flashproof::bound
