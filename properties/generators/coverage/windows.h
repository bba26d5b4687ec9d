// How far the windows of a covering array's rows reach: each hides something.
#pragma once

#include <algorithm>
#include <cstdint>

#include "properties/generators/features.h"

namespace flashproof::pairwise {

/// A few or many keys, mostly fewer than `within`: a window that reaches further ends nowhere. The longest of these as often as all the
/// others. Not 0: of 0 keys to the left a sequence that ends earlier sees nothing (`feature_edges` has those).
inline std::int32_t window_reach(Random& random, std::int64_t within) {
  constexpr std::int32_t kReach[] = {1, 3, 8, 20, 100, 200};
  std::int64_t end = 0;
  for (const std::int32_t reach : kReach) end += reach < within ? 1 : 0;
  const bool any = random.chance(0.2), longest = random.chance(0.5);
  if (any || end == 0)
    end = std::ssize(kReach);
  else if (longest)
    return kReach[end - 1];
  return kReach[random.integer(0, end - 1)];
}

/// The most queries of a sequence.
inline std::int64_t longest_queries(const AttentionProblem& problem) {
  std::int64_t longest = 0;
  for (std::int64_t s = 0; s < problem.sequences(); ++s) longest = std::max(longest, problem.q_length(s));
  return longest;
}

/// Level: 1 to the left, 2 to the right, 3 both. The last query sees the last key, so a window to the right ends somewhere only where
/// there are more queries than it reaches; under a causal mask nowhere, and of 0 keys where the mask does.
inline void put_window(AttentionProblem& problem, Random& random, std::int64_t level) {
  if (level == 0) return;
  const std::int32_t left = window_reach(random, problem.k_length() - 1);
  const std::int32_t right = window_reach(random, longest_queries(problem) - 1);
  const bool at_mask = random.chance(0.5);
  if ((level & 1) != 0) problem.window_left = left;
  if ((level & 2) != 0) problem.window_right = problem.causal && at_mask ? 0 : right;
}

}  // namespace flashproof::pairwise
