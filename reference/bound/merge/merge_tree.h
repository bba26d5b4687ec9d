// Which states a pairwise combination joins, and in which order: the walk that every pairwise form makes (README.md,
// "Trees"). A fold is the tree whose every join takes the one before it.
#pragma once

#include <span>
#include <vector>

#include "reference/bound/declare/arithmetic.h"
#include "reference/problem/problems.h"

namespace flashproof::bound {

/// The n − 1 joins of n states in visiting order: those given, or for none the left fold (pairwise_fold) or the balanced
/// tree (pairwise_tree): neighbours are joined round by round, an odd last one waits for the next round.
std::vector<Join> joins_of(Reduction reduction, int states, std::span<const Join> given = {});

/// The tree that is left when empty states drop out: a join with an empty side is a copy. States are renumbered in
/// order: node i is the i-th state with present[i]. `joins` as joins_of() returns them.
std::vector<Join> pruned(std::span<const Join> joins, const std::vector<bool>& present);

/// What a node pays on its way into its parent; carried down, what a state pays on its way to the root. Log units, but
/// for `lost`, an absolute error of a weight where all weights are 1 together.
struct Edge {
  double exponent = 0;
  double lost = 0;
  double numerator = 0;
  double denominator = 0;

  Edge& operator+=(const Edge& other);
};

/// Adds every node's edge to those below it. edges[i] belongs to node i, the root's is 0; afterwards the first
/// joins.size() + 1 are the states' sums.
void carry_down(std::span<const Join> joins, std::vector<Edge>& edges);

/// A join of two sides whose states all share an error, of up to `left` and `right` log units: only ratios count. `gap` is
/// ln of the left side's weight beside the right one's. What each side pays, and what the states of both share after it.
struct Settled {
  double left = 0, right = 0, pending = 0;
};
Settled settle(double left, double right, double gap);

}  // namespace flashproof::bound
