// Combinations of states, of a split and of a merge problem: flat, folded or by a tree (arithmetic.h, Split).
#pragma once

#include <span>
#include <vector>

#include "reference/model/state.h"
#include "reference/problem/problems.h"

namespace flashproof::model {

struct Combination {
  Reduction reduction;  // flat, pairwise_fold, pairwise_tree
  MergeWeights weights;
  Format lse_format;  // of lse between two joins
  bool rescales;      // max_sum: parts of a split are rescaled as a running state is, states of a merge weighed
  std::span<const Join> joins;  // of pairwise_tree; none: balanced
};

/// States (o, lse) in order; weights is not max_sum. At least one.
Normalised combine(Machine& machine, const Arithmetic& arithmetic, const Combination& combination,
                   std::vector<Normalised> states);
/// States (m, l, O), m in `unit`, by max_sum; then one ending.
Normalised combine_sums(Machine& machine, const Arithmetic& arithmetic, const Combination& combination, float unit,
                        std::vector<State> states);

/// Joins the states as the combination says. join(a, b) is called for two states that are not empty; an empty one is the
/// identity.
template <class S, class Joiner>
S join_all(const Combination& combination, std::vector<S> states, Joiner&& join) {
  const auto both = [&](S& a, S& b) -> S {
    if (b.empty()) return std::move(a);
    if (a.empty()) return std::move(b);
    return join(std::move(a), std::move(b));
  };
  if (combination.reduction == Reduction::pairwise_fold) {
    S result = std::move(states[0]);
    for (std::size_t c = 1; c < states.size(); ++c) result = both(result, states[c]);
    return result;
  }
  if (!combination.joins.empty()) {
    for (const Join& j : combination.joins) {
      S joined = both(states[static_cast<std::size_t>(j.left)], states[static_cast<std::size_t>(j.right)]);
      states.push_back(std::move(joined));
    }
    return std::move(states.back());
  }
  while (states.size() > 1) {  // balanced: neighbours, an odd one moves up
    std::vector<S> next;
    for (std::size_t c = 0; c + 1 < states.size(); c += 2) next.push_back(both(states[c], states[c + 1]));
    if (states.size() % 2 != 0) next.push_back(std::move(states.back()));
    states = std::move(next);
  }
  return std::move(states[0]);
}

}  // namespace flashproof::model
