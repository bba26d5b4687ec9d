// One function per problem; run_model() picks.
#pragma once

#include <vector>

#include "reference/bound/declare/arithmetic.h"
#include "reference/model/roundings.h"
#include "reference/problem/problems.h"

namespace flashproof::model {

void run(const SoftmaxProblem& problem, const Arithmetic& arithmetic, const Roundings& roundings, Output& output);
void run(const MergeProblem& problem, const Arithmetic& arithmetic, const Roundings& roundings, Output& output);
void run(const AttentionProblem& problem, const Arithmetic& arithmetic, const Roundings& roundings, Output& output);

/// Rounds a row of f32 results into the output's formats.
void store(Output& output, std::int64_t row, const std::vector<float>& o, float lse);

}  // namespace flashproof::model
