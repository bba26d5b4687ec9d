// Joins of un-normalised states (m, l, O): l and O are rescaled to the larger m, which is exact, and one division ends
// it. The exponents of a path telescope, as in a softmax, and no |λ| enters (README.md, "Sums").
#include <algorithm>
#include <cmath>
#include <utility>

#include "reference/bound/costs.h"
#include "reference/bound/merge/merge_paths.h"
#include "reference/bound/merge/merge_tree.h"

namespace flashproof::bound {

namespace {

struct Node {
  Nats max;
  double lse = 0;      // ln of the sum, beside the largest m of the row
  double pending = 0;  // errors of the frames, which all states of the node share
};

double log_add(double a, double b) {
  const double larger = std::max(a, b);
  return larger + std::log1p(std::exp(std::min(a, b) - larger));
}

}  // namespace

MergePaths sum_tree_paths(const std::vector<MergeState>& states, const Arithmetic& arithmetic,
                          std::span<const Join> joins, MergeForm form) {
  MergePaths paths;
  RowModel& row = paths.row;
  set_leaves(paths, states);
  Leaves& leaves = row.leaves;
  const auto n = static_cast<double>(states.size());
  double doubt = 0;  // a frame is the maximum of computed m
  std::vector<Node> nodes;
  std::vector<Edge> edges(2 * states.size() - 1);
  for (std::size_t c = 0; c < states.size(); ++c) {
    doubt = std::max(doubt, states[c].error.count);
    nodes.push_back({.max = states[c].max, .lse = leaves.score[c], .pending = states[c].error.count});
  }
  const Nats exp_cost = exponential_cost(arithmetic);
  std::vector<int> exps(edges.size(), 0);
  paths.descent.assign(edges.size(), 1);
  for (const Join& join : joins) {
    const Node& a = nodes[join.left];
    const Node& b = nodes[join.right];
    Node node{.max = std::max(a.max, b.max), .lse = log_add(a.lse, b.lse)};
    const double frame = frame_cost(arithmetic, abs(node.max) + Nats{doubt}).count;
    for (const std::int32_t side : {join.left, join.right}) {
      const double gap = (node.max - nodes[side].max).count;
      Edge& edge = edges[side];
      paths.descent[side] = std::exp(-gap);
      if (gap > 0 || doubt > 0 || rounds_frame(arithmetic)) {  // else the factor is exactly 1
        edge.exponent += (argument_cost(arithmetic, {gap + 2 * doubt}, nodes[side].max, node.max) + exp_cost).count;
        edge.numerator += roundings(1);
        edge.denominator += roundings(1);
        exps[side] = 1;
        paths.largest = std::max(paths.largest, edge.exponent + frame);
        const Nats constant = constant_cost(arithmetic, {gap + 2 * doubt});
        paths.constant = std::max(paths.constant, constant_share(constant, {edge.exponent}));
      }
      edge.numerator += form == MergeForm::concat ? 0 : roundings(1);
      edge.denominator += roundings(1);
    }
    const Settled settled = settle(a.pending, b.pending, a.lse - b.lse);
    edges[join.left].exponent += settled.left;
    edges[join.right].exponent += settled.right;
    node.pending = settled.pending + frame;
    nodes.push_back(node);
  }
  for (std::size_t k = joins.size(); k-- > 0;) {
    exps[joins[k].left] += exps[states.size() + k];
    exps[joins[k].right] += exps[states.size() + k];
  }
  carry_down(joins, edges);

  const Nats frame = paths.frame;
  const double unit = std::exp(-row.frame.max);  // from the kernel's frame to that of the largest leaf
  double sum = 0;
  double widest = 0;
  std::vector<double> computed;  // l in the frame of its own state, times what its path may add
  for (std::size_t c = 0; c < states.size(); ++c) {
    leaves.exponent[c] = (edges[c].exponent + 0x1p-50 * (frame - states[c].max).count) * kSlack;
    leaves.numerator[c] = edges[c].numerator;
    leaves.denominator[c] = edges[c].denominator;
    if (exps[c] > 0 && (frame - states[c].max).count + leaves.exponent[c] + 2 * doubt > kLogMinNormal - 0x1p-10) {
      const double growth_of_later = std::exp(2 * (arithmetic.exp_error * exps[c]) + nodes.back().pending);
      leaves.lost[c] = exps[c] * exp_underflow(arithmetic) * states[c].sum * growth_of_later * unit;
      row.largest_leads = false;
    }
    sum += states[c].sum * std::exp((states[c].max - frame).count);
    widest = std::max(widest, leaves.exponent[c]);
    computed.push_back(states[c].sum * std::exp(std::min(leaves.exponent[c], kMostGrowth)));
  }
  row.common = nodes.back().pending;
  row.numerator_underflow = underflow_of(arithmetic, 3 * n, 3 * n) * unit * later(3 * n);
  row.denominator_underflow = underflow_of(arithmetic, 2 * n, 3 * n) * unit * later(3 * n);
  // No weight is 1 for certain. Where some are lost the bracket of lse is not used, and frames err as their m do.
  row.frame.error = row.largest_leads ? widest : doubt;
  set_weights(paths);
  const double log_size = std::fabs(std::log(sum)) * kSlack;
  paths.lse = merge_lse(paths.weights, arithmetic, log_size + doubt, paths.largest + roundings(1), paths.constant);
  const double lse_size = std::fabs(paths.weights.lse) + paths.lse.total();
  paths.lse_last = sum_cost(lse_size, log_size + doubt + paths.lse.total());
  paths.ending = merge_ending(arithmetic, log_size + doubt + paths.lse.total(), lse_size);
  require_sum(paths);
  require_factor(arithmetic, std::log(sum) - doubt - paths.lse.total(), paths);
  // What a node has pending is charged to its states later on, or is the root's. Where m is in doubt a frame may be low.
  const double most = largest_sum(joins, paths.descent, std::move(computed));
  paths.preconditions.push_back({"sum of weights below the f32 range, in the frame of every join",
                                 most * (1 + growth(row.common + doubt + roundings(2 * n))), kF32Max});
  if (rounds_frame(arithmetic)) paths.preconditions.push_back(head_room(arithmetic, frame, n));
  return paths;
}

}  // namespace flashproof::bound
