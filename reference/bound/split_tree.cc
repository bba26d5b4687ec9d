#include "reference/bound/split_tree.h"

#include <algorithm>
#include <cmath>

#include "reference/bound/merge_tree.h"

namespace flashproof::bound {

SplitTree split_tree(Reduction combine, const std::vector<bool>& present) {
  SplitTree tree;
  const auto states = static_cast<std::size_t>(std::ranges::count(present, true));
  if (combine == Reduction::flat) {
    tree.depth.assign(states, 1);
    return tree;
  }
  tree.joins = pruned(joins_of(combine, static_cast<int>(present.size())), present);
  std::vector<int> depth(states + tree.joins.size(), 0);
  for (std::size_t k = tree.joins.size(); k-- > 0;) {
    for (const std::int32_t side : {tree.joins[k].left, tree.joins[k].right}) depth[side] = depth[states + k] + 1;
  }
  tree.depth.assign(depth.begin(), depth.begin() + static_cast<std::ptrdiff_t>(states));
  return tree;
}

double steepest(const SplitTree& tree, const std::vector<MergeState>& states) {
  std::vector<double> lse;
  lse.reserve(states.size() + tree.joins.size());
  for (const MergeState& state : states) lse.push_back(state.max);
  double steep = 0;
  for (const Join& join : tree.joins) {
    const double a = lse[join.left], b = lse[join.right];
    steep = std::max(steep, b - a);
    lse.push_back(std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b))));
  }
  return steep;
}

double unsettled(const SplitTree& tree, const std::vector<MergeState>& states, double total, double rounding,
                 double doubt) {
  const auto more = [&](double term) { return std::min(rounding, term + 2 * doubt) - std::min(rounding, term); };
  if (tree.joins.empty()) return more(std::log(total));
  std::vector<double> lse;
  lse.reserve(states.size() + tree.joins.size());
  for (const MergeState& state : states) lse.push_back(state.max);
  double most = 0;
  for (const Join& join : tree.joins) {
    const double a = lse[join.left], b = lse[join.right];
    const double term = std::log1p(std::exp(-std::fabs(a - b)));
    most = std::max(most, more(term));
    lse.push_back(std::max(a, b) + term);
  }
  return most;
}

}  // namespace flashproof::bound
