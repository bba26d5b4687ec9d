// One function per problem; compute_bound() picks.
#pragma once

#include <span>
#include <vector>

#include "reference/bound/bound.h"
#include "reference/bound/row/row_model.h"

namespace flashproof::bound {

Bound softmax_bound(const SoftmaxProblem& problem, const Arithmetic& arithmetic);
Bound merge_bound(const MergeProblem& problem, const Arithmetic& arithmetic);
/// By each of them, which share what no declaration changes.
std::vector<Bound> attention_bounds(const AttentionProblem& problem, std::span<const Arithmetic> arithmetics);

std::vector<Precondition> softmax_preconditions(const SoftmaxProblem& problem, const Arithmetic& arithmetic,
                                                std::int64_t row);
std::vector<Precondition> merge_preconditions(const MergeProblem& problem, const Arithmetic& arithmetic,
                                              std::int64_t row);

std::vector<Precondition> attention_preconditions(const AttentionProblem& problem, const Arithmetic& arithmetic,
                                                  std::int64_t row);
/// std::invalid_argument naming the field that attention/README.md does not cover.
void require_attention(const Arithmetic& arithmetic);
/// UsageError naming the argument of a problem that this declaration has no meaning for.
void require_attention_problem(const AttentionProblem& problem, const Arithmetic& arithmetic);

/// All bounds 0, nothing vacuous, every row in its domain.
Bound zero_bound(std::int64_t rows, std::int64_t width);

}  // namespace flashproof::bound
