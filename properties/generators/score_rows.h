// The rows of logits that a case really holds, read back from its tensors, independent of how a family wrote them. Doubles
// are enough: what is measured on them leaves wide margins.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

#include "reference/problem/problems.h"

namespace flashproof {

struct ScoreRow {
  std::vector<double> score;            // natural units; −inf where the key is hidden. A merge's state with l: m + ln l
  double condition = 1;                 // attention: the largest Σ|q_t k_t| / |Σ q_t k_t| of the row
  ChunkPlan plan;                       // a merge: one chunk per state
  std::vector<double> conditions = {};  // attention: of every visible key whose q·k is not 0
  double saturation = 0;                // attention with a softcap: the largest |score before it| / softcap
  std::vector<bool> hidden = {};        // by length, position, a bias of −inf, x = −inf, or a state without a weight
  std::int64_t length = 0;              // keys by length alone; a merge: the states
  double sink = -std::numeric_limits<double>::infinity();
  std::int64_t sequence = 0, kv_head = 0;  // attention
  std::int64_t width = 0;                  // columns of v; softmax: 0
  std::function<double(std::int64_t key, std::int64_t column)> value = {};
};

std::vector<ScoreRow> rows_of(const SoftmaxProblem& problem);
std::vector<ScoreRow> rows_of(const MergeProblem& problem);
std::vector<ScoreRow> rows_of(const AttentionProblem& problem);
std::vector<ScoreRow> rows_of(const Problem& problem);

inline double row_max(const ScoreRow& row) {
  double top = -std::numeric_limits<double>::infinity();
  for (const double score : row.score) top = std::max(top, score);
  return top;
}

/// The maximum of each chunk, in the order of the visit.
std::vector<double> visited_maxima(const ScoreRow& row);

}  // namespace flashproof
