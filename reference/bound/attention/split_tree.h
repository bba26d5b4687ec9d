// The joins by which the parts of a split are combined, and what their lse mean for them.
#pragma once

#include <vector>

#include "reference/bound/merge/merge_paths.h"
#include "reference/problem/problems.h"

namespace flashproof::bound {

/// The joins of the parts that are not empty, and for each such part how many it takes part in.
struct SplitTree {
  std::vector<Join> joins;
  std::vector<int> depth;
};

SplitTree split_tree(Reduction combine, const std::vector<bool>& present);

/// The largest b − a of the joins (a, b), by lse.
double steepest(const SplitTree& tree, const std::vector<MergeState>& states);

/// The largest lse of a side that is the smaller one, and may not be: its join's frame then. Each is wrong by `doubt`; 0
/// where no join's sides may change places. The lse of a node may exceed that of every state, by ln of their number.
double turned(const SplitTree& tree, const std::vector<MergeState>& states, double doubt);

/// An lse is rounded by min(u|λ|, what was added to the larger one). merge_paths() has that of the states as they are: how
/// much more it may be where each is wrong by `doubt`, at any join. `rounding`: u times the largest lse of the states; by
/// how much a node's may exceed it, merge_paths() has paid (README.md, section 7).
double unsettled(const SplitTree& tree, const std::vector<MergeState>& states, double total, double rounding,
                 double doubt);

}  // namespace flashproof::bound
