#include "reference/bound/attention/split_tree.h"

#include <algorithm>
#include <cmath>

#include "reference/bound/merge/merge_tree.h"

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

namespace {

/// visit(λ_a, λ_b) of every join, and λ of what it makes.
template <class Visit>
void for_each_join(const SplitTree& tree, const std::vector<MergeState>& states, Visit&& visit) {
  std::vector<double> lse;
  lse.reserve(states.size() + tree.joins.size());
  for (const MergeState& state : states) lse.push_back(state.max.count);
  for (const Join& join : tree.joins) {
    const double a = lse[join.left], b = lse[join.right];
    visit(a, b);
    lse.push_back(std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b))));
  }
}

}  // namespace

double steepest(const SplitTree& tree, const std::vector<MergeState>& states) {
  double steep = 0;
  for_each_join(tree, states, [&](double a, double b) { steep = std::max(steep, b - a); });
  return steep;
}

double turned(const SplitTree& tree, const std::vector<MergeState>& states, double doubt) {
  double largest = 0;
  for_each_join(tree, states, [&](double a, double b) {
    if (std::fabs(a - b) <= 2 * doubt) largest = std::max(largest, std::fabs(std::min(a, b)) + doubt);
  });
  return largest * kSlack;
}

double unsettled(const SplitTree& tree, const std::vector<MergeState>& states, double total, double rounding,
                 double doubt) {
  const auto more = [&](double term) { return std::min(rounding, term + 2 * doubt) - std::min(rounding, term); };
  if (tree.joins.empty()) return more(std::log(total));
  double most = 0;
  for_each_join(tree, states,
                [&](double a, double b) { most = std::max(most, more(std::log1p(std::exp(-std::fabs(a - b))))); });
  return most;
}

}  // namespace flashproof::bound
