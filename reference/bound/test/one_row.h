// Test helper: the smallest attention and merge problems whose scores are given, and a plain declaration.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/bound/declare/arithmetic.h"
#include "reference/problem/problems.h"

namespace flashproof::bound {

inline constexpr double kExpError = 0x1p-23;
inline constexpr double kLogError = 0x1p-23;

inline Arithmetic declared(Reduction reduction) {
  Arithmetic arithmetic{.reduction = reduction, .exp_error = kExpError, .log_error = kLogError, .lanes = 1};
  arithmetic.dot.chains = 1;
  arithmetic.ending = reduction == Reduction::chunk_deferred ? Ending::divide
                      : reduction == Reduction::lse_running  ? Ending::division_free
                                                             : Ending::multiply_reciprocal;
  return arithmetic;
}

/// One query with d = 1, q = 1 and scale = 1: the scores are the keys, exactly.
inline AttentionProblem one_row(const std::vector<float>& scores, const std::vector<float>& values, int chunk) {
  const auto n = static_cast<std::int64_t>(scores.size());
  AttentionProblem p;
  p.q = Tensor::dense(Format::f32, {1, 1, 1, 1});
  p.k = Tensor::dense(Format::f32, {1, 1, n, 1});
  p.v = Tensor::dense(Format::f32, {1, 1, n, 1});
  p.q.set({0, 0, 0, 0}, 1);
  for (std::int64_t j = 0; j < n; ++j) {
    p.k.set({0, 0, j, 0}, scores[j]);
    p.v.set({0, 0, j, 0}, values[j]);
  }
  p.plan = ChunkPlan::uniform(n, chunk);
  return p;
}

/// One row of merge states with dv = 1, folded in order.
inline MergeProblem merge_row(const std::vector<float>& lse, const std::vector<float>& o,
                              MergeForm form = MergeForm::sum) {
  const auto n = static_cast<std::int64_t>(lse.size());
  MergeProblem p;
  p.form = form;
  p.o = Tensor::dense(Format::f32, {n, 1, 1});
  p.lse = Tensor::dense(Format::f32, {n, 1});
  for (std::int64_t c = 0; c < n; ++c) {
    p.o.set({c, 0, 0}, o[c]);
    p.lse.set({c, 0}, lse[c]);
    p.order.push_back(static_cast<std::int32_t>(c));
  }
  return p;
}

}  // namespace flashproof::bound
