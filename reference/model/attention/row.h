// One query row of attention before any exponential: its scores in the unit of the declaration, and the plan clipped to it.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/model/exponentials.h"
#include "reference/model/machine.h"
#include "reference/problem/problems.h"

namespace flashproof::model {

/// What the rows of one sequence and kv head share.
struct AttentionModel {
  const AttentionProblem& problem;
  const Arithmetic& arithmetic;
  float scale;            // times the descale factors, as computed
  float value_factor;     // v_descale
  const ChunkPlan& plan;  // what is visited

  bool scaled_query() const { return arithmetic.query_scaled || arithmetic.query != Format::f32; }
  /// What a raw score is multiplied by to be one: the scale, the cap under a softcap; 1 of natural scores.
  float unit() const;
};

struct AttentionRow {
  std::int64_t sequence, head, query;
  std::vector<float> score = {};  // by key of the sequence; −inf: hidden
  bool poisoned = false;          // a visible score, or the sink, is NaN or +inf: so is the row
  bool has_sink = false;
  float sink = 0;  // in the unit of the scores
  // Only where the machine aims: w_j (v_j − o) of the column aimed at, the maximum's weight being 1; and of the sink.
  std::vector<double> pull = {};
  double sink_pull = 0;

  /// Of a set of keys, by position; 0 where nothing aims.
  double pull_of(std::int64_t begin, std::int64_t end) const;
};

AttentionRow score_row(const AttentionModel& model, Machine& machine, std::int64_t s, std::int64_t h, std::int64_t i,
                       std::int64_t column);

/// v_j of one column for the keys [begin, end), 0 where the score is −inf: a hidden key is isolated.
void gather_values(const AttentionModel& model, const AttentionRow& row, std::int64_t begin, std::int64_t end,
                   std::int64_t column, std::vector<float>& values);

}  // namespace flashproof::model
