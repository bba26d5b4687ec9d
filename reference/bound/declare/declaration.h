// What a declaration of arithmetic must satisfy to mean anything for attention: for the bound that is computed
// from it and the model that runs it. What either of them lacks besides is its own business.
#pragma once

#include <string>

#include "reference/bound/declare/arithmetic.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// Of Arithmetic::block: more keys than any row has.
inline constexpr int kMostBlock = 1 << 30;

inline constexpr bool is_power_of_two(int n) { return n > 0 && (n & (n - 1)) == 0; }

/// The first field that contradicts the others or its range, and what is legal; empty if none does.
std::string attention_contradiction(const Arithmetic& arithmetic);
/// The same of `block` and `visits`, for any problem.
std::string visits_contradiction(const Arithmetic& arithmetic);
/// The chunks that a kernel with this declaration visits, in their order: the plan's or its own. `any`: ascending, the
/// smallest chunks there can be.
ChunkPlan visited_plan(const ChunkPlan& plan, const Arithmetic& arithmetic);
/// Why raw scores have no meaning here: the argument and what is legal; empty if they have one.
std::string raw_scores_refused(const AttentionProblem& problem);

}  // namespace flashproof
