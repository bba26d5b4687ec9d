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

/// The tree from its leaves up, and what every state pays on its way to the root.
struct Walk {
  double doubt = 0;         // a frame is the maximum of computed m
  std::vector<Node> nodes;  // the leaves, then the joins
  std::vector<Edge> edges;  // of every node but the root, to its join; after carry_down() to the root
  std::vector<int> exps;    // exponentials on it
  // Log units by which the factors on it exceed 1 at most: what is lost at one of them the others multiply, and a rounded
  // frame makes each of them e^κ, whatever the exponents say.
  std::vector<double> frames;
  std::vector<double> own;  // log units of the exponentials on it
};

/// Of one side of a join: its rescaling, which nothing pays that keeps its frame.
void charge_side(Walk& walk, std::int32_t side, const Node& join, double frame, const Arithmetic& arithmetic,
                 MergeForm form, MergePaths& paths) {
  const Node& node = walk.nodes[side];
  const double gap = (join.max - node.max).count;
  const double doubt = walk.doubt;
  Edge& edge = walk.edges[side];
  paths.descent[side] = std::exp(-gap);
  if (gap > 0 || doubt > 0 || rounds_frame(arithmetic)) {  // else the factor is exactly 1
    const Nats exp_cost = exponential_cost(arithmetic);
    walk.own[side] = (argument_cost(arithmetic, {gap + 2 * doubt}, node.max, join.max) + exp_cost).count;
    edge.exponent += walk.own[side];
    edge.numerator += roundings(1);
    edge.denominator += roundings(1);
    walk.exps[side] = 1;
    walk.frames[side] = frame;
    paths.largest = std::max(paths.largest, edge.exponent + frame);
    const Nats constant = constant_cost(arithmetic, {gap + 2 * doubt});
    paths.constant = std::max(paths.constant, constant_share(constant, {edge.exponent}));
  }
  edge.numerator += form == MergeForm::concat ? 0 : roundings(1);
  edge.denominator += roundings(1);
}

Walk walk_up(const std::vector<MergeState>& states, const Arithmetic& arithmetic, std::span<const Join> joins,
             MergeForm form, MergePaths& paths) {
  Walk walk;
  for (std::size_t c = 0; c < states.size(); ++c) {
    walk.doubt = std::max(walk.doubt, states[c].error.count);
    walk.nodes.push_back({.max = states[c].max, .lse = paths.row.leaves.score[c], .pending = states[c].error.count});
  }
  walk.edges.resize(2 * states.size() - 1);
  walk.exps.assign(walk.edges.size(), 0);
  walk.frames.assign(walk.edges.size(), 0);
  walk.own.assign(walk.edges.size(), 0);
  paths.descent.assign(walk.edges.size(), 1);
  for (const Join& join : joins) {
    const Node& a = walk.nodes[join.left];
    const Node& b = walk.nodes[join.right];
    Node node{.max = std::max(a.max, b.max), .lse = log_add(a.lse, b.lse)};
    const double frame = frame_cost(arithmetic, abs(node.max) + Nats{walk.doubt}).count;
    for (const std::int32_t side : {join.left, join.right}) {
      charge_side(walk, side, node, frame, arithmetic, form, paths);
    }
    const Settled settled = settle(a.pending, b.pending, a.lse - b.lse);
    walk.edges[join.left].exponent += settled.left;
    walk.edges[join.right].exponent += settled.right;
    node.pending = settled.pending + frame;
    walk.nodes.push_back(node);
  }
  for (std::size_t k = joins.size(); k-- > 0;) {
    for (const std::int32_t side : {joins[k].left, joins[k].right}) {
      walk.exps[side] += walk.exps[states.size() + k];
      walk.frames[side] += walk.frames[states.size() + k];
      walk.own[side] += walk.own[states.size() + k];
    }
  }
  carry_down(joins, walk.edges);
  return walk;
}

/// What all the leaves come to: the sum, the widest error of one, and every l in the frame of its own state, times what
/// its path may add.
struct LeafSums {
  double sum = 0, widest = 0;
  std::vector<double> computed;
};

/// Charges the leaves with their paths. `unit`: from the kernel's frame to that of the largest leaf.
LeafSums charge_leaves(const std::vector<MergeState>& states, const Arithmetic& arithmetic, const Walk& walk,
                       double unit, MergePaths& paths) {
  LeafSums all;
  Leaves& leaves = paths.row.leaves;
  const Nats frame = paths.frame;
  for (std::size_t c = 0; c < states.size(); ++c) {
    leaves.exponent[c] = (walk.edges[c].exponent + 0x1p-50 * (frame - states[c].max).count) * kSlack;
    leaves.numerator[c] = walk.edges[c].numerator;
    leaves.denominator[c] = walk.edges[c].denominator;
    if (leaves.score[c] == paths.row.frame.max) {
      paths.row.largest_error = std::max(paths.row.largest_error, walk.own[c] + walk.frames[c]);
    }
    const int exps = walk.exps[c];
    const double depth = (frame - states[c].max).count + leaves.exponent[c] + walk.frames[c] + 2 * walk.doubt;
    if (exps > 0 && depth > kLogMinNormal - 0x1p-10) {
      const double growth_of_others = 2 * (arithmetic.exp_error * exps) + walk.nodes.back().pending + walk.frames[c];
      leaves.lost[c] =
          exps * exp_underflow(arithmetic) * states[c].sum * std::exp(std::min(growth_of_others, kMostGrowth)) * unit;
      paths.row.largest_leads = false;
    }
    all.sum += states[c].sum * std::exp((states[c].max - frame).count);
    all.widest = std::max(all.widest, leaves.exponent[c]);
    all.computed.push_back(states[c].sum * std::exp(std::min(leaves.exponent[c], kMostGrowth)));
  }
  return all;
}

}  // namespace

MergePaths sum_tree_paths(const std::vector<MergeState>& states, const Arithmetic& arithmetic,
                          std::span<const Join> joins, MergeForm form) {
  MergePaths paths;
  RowModel& row = paths.row;
  set_leaves(paths, states);
  const auto n = static_cast<double>(states.size());
  const Walk walk = walk_up(states, arithmetic, joins, form, paths);
  const double doubt = walk.doubt;
  const double unit = std::exp(-row.frame.max);
  LeafSums leaves = charge_leaves(states, arithmetic, walk, unit, paths);

  row.common = walk.nodes.back().pending;
  const double frames = *std::max_element(walk.frames.begin(), walk.frames.begin() + std::ssize(states));
  const double factors = std::exp(std::min(frames, kMostGrowth)) * later(3 * n);  // behind a product that underflows
  row.numerator_underflow = underflow_of(arithmetic, 3 * n, 3 * n) * unit * factors;
  row.denominator_underflow = underflow_of(arithmetic, 2 * n, 3 * n) * unit * factors;
  // No weight is 1 for certain. Where some are lost the bracket of lse is not used, and frames err as their m do.
  row.frame.error = row.largest_leads ? leaves.widest : doubt;
  set_weights(paths);
  const double log_size = std::fabs(std::log(leaves.sum)) * kSlack;
  paths.lse = merge_lse(paths.weights, arithmetic, log_size + doubt, paths.largest + roundings(1), paths.constant);
  const double lse_size = std::fabs(paths.weights.lse) + paths.lse.total();
  paths.lse_last = sum_cost(lse_size, log_size + doubt + paths.lse.total());
  paths.ending = merge_ending(arithmetic, log_size + doubt + paths.lse.total(), lse_size);
  require_sum(paths);
  require_factor(arithmetic, std::log(leaves.sum) - doubt - paths.lse.total(), paths);
  // What a node has pending is charged to its states later on, or is the root's. Where m is in doubt a frame may be low.
  const double most = largest_sum(joins, paths.descent, std::move(leaves.computed));
  paths.preconditions.push_back({"sum of weights below the f32 range, in the frame of every join",
                                 most * (1 + growth(row.common + doubt + roundings(2 * n))), kF32Max});
  if (rounds_frame(arithmetic)) paths.preconditions.push_back(head_room(arithmetic, paths.frame, n));
  return paths;
}

}  // namespace flashproof::bound
