// One function per problem: valid problem in, truth out. compute_truth is the entrance.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "reference/oracle/row_truth.h"
#include "reference/oracle/truth.h"
#include "reference/problem/problems.h"

namespace flashproof {

Truth exact_truth(const SoftmaxProblem& problem);
Truth exact_truth(const MergeProblem& problem);
Truth exact_truth(const AttentionProblem& problem);

/// The keys of a row that have a weight, in order. Reused from row to row.
struct RowKeys {
  std::vector<ExactScore> score;
  std::vector<std::int64_t> key;
  bool poisoned = false;  // a visible score is NaN or +inf

  void clear() {
    score.clear();
    key.clear();
    poisoned = false;
  }
};

}  // namespace flashproof
