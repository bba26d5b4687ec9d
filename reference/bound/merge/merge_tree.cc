#include "reference/bound/merge/merge_tree.h"

namespace flashproof::bound {

std::vector<Join> joins_of(Reduction reduction, int states, std::span<const Join> given) {
  if (!given.empty()) return {given.begin(), given.end()};
  std::vector<Join> joins;
  joins.reserve(states);
  if (reduction != Reduction::pairwise_tree) {
    for (int c = 1; c < states; ++c) joins.push_back({.left = c == 1 ? 0 : states + c - 2, .right = c});
    return joins;
  }
  std::vector<std::int32_t> round;
  round.reserve(states);
  for (int c = 0; c < states; ++c) round.push_back(c);
  while (round.size() > 1) {
    std::vector<std::int32_t> next;
    for (std::size_t i = 0; i + 1 < round.size(); i += 2) {
      next.push_back(states + static_cast<std::int32_t>(joins.size()));
      joins.push_back({.left = round[i], .right = round[i + 1]});
    }
    if (round.size() % 2 == 1) next.push_back(round.back());
    round = next;
  }
  return joins;
}

std::vector<Join> pruned(std::span<const Join> joins, const std::vector<bool>& present) {
  constexpr std::int32_t kEmpty = -1;
  std::vector<std::int32_t> node;  // of every old node: the new one that it is
  std::int32_t states = 0;
  node.reserve(present.size() + joins.size());
  for (const bool there : present) node.push_back(there ? states++ : kEmpty);
  std::vector<Join> kept;
  for (const Join& join : joins) {
    const std::int32_t left = node[join.left];
    const std::int32_t right = node[join.right];
    if (left != kEmpty && right != kEmpty) {
      node.push_back(states + static_cast<std::int32_t>(kept.size()));
      kept.push_back({.left = left, .right = right});
    } else {
      node.push_back(left != kEmpty ? left : right);
    }
  }
  return kept;
}

Edge& Edge::operator+=(const Edge& other) {
  exponent += other.exponent;
  lost += other.lost;
  numerator += other.numerator;
  denominator += other.denominator;
  return *this;
}

Settled settle(double left, double right, double gap) {
  // Where neither side is much the smaller, each pays its own. (Handing on the larger one's costs a balanced tree the
  // square of its depth.)
  constexpr double kMuch = 1.4;
  if (left > 0 && right > 0 && gap > -kMuch && gap < kMuch) return {left, right, 0};
  // Otherwise the smaller one takes over what the larger one keeps.
  return gap < 0 ? Settled{left + right, 0, right} : Settled{0, left + right, left};
}

void carry_down(std::span<const Join> joins, std::vector<Edge>& edges) {
  for (std::size_t k = joins.size(); k-- > 0;) {  // a node is made after both of its sides
    const Edge node = edges[joins.size() + 1 + k];
    edges[joins[k].left] += node;
    edges[joins[k].right] += node;
  }
}

}  // namespace flashproof::bound
