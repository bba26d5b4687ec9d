// Parts of a backward problem whose pairs of query and key are pairs of the whole, with the positions that they have there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/problem/backward.h"

namespace flashproof {

/// What stays: positions count from the bottom right, so of queries and of keys the last ones.
struct GradientSlice {
  std::vector<std::int64_t> batches, q_heads, k_heads;
  std::int64_t first_query = 0, first_key = 0;
};

struct GradientPart {
  BackwardProblem problem;
  std::vector<std::int64_t> query_row, key_row;  // of every row of the part, in the whole
};

/// All of it.
GradientSlice whole_slice(const AttentionProblem& problem);
/// The query heads that read kv head `kv`.
std::vector<std::int64_t> group_of(const AttentionProblem& problem, std::int64_t kv);
/// Of some keys alone o and lse are none of a forward pass: a stage.
GradientPart slice_of(const BackwardProblem& whole, const GradientSlice& slice);

}  // namespace flashproof
