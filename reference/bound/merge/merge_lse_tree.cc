// Joins of (o, λ): every node computes an lse, rounds it, and makes two weights of it (README.md, "Trees"). A state pays
// for the exponentials on its way and for the computed lse of every node but the root, where it is on the smaller side.
#include <algorithm>
#include <cmath>

#include "reference/bound/costs.h"
#include "reference/bound/merge/merge_paths.h"
#include "reference/bound/merge/merge_tree.h"

namespace flashproof::bound {

namespace {

struct Node {
  Nats max;              // the largest λ of its states, exact: beside it a double has room for `more`
  double more = 0;       // its exact lse above that, <= ln n
  double total = 0;      // |computed lse − exact|, its last rounding included
  double unrounded = 0;  // without it
  double last = 0;       // that rounding
  double pending = 0;    // of the computed lse and of what made it: log units that no state has been charged with
  double deviation = 0;  // |ln Σ| of the weights that its states have in it
};

double log_add(double a, double b) {
  const double larger = std::max(a, b);
  return larger + std::log1p(std::exp(std::min(a, b) - larger));
}

/// λ_a − λ_b.
double gap_of(const Node& a, const Node& b) { return (a.max - b.max).count + (a.more - b.more); }

class Walk {
 public:
  Walk(const std::vector<MergeState>& states, const Arithmetic& arithmetic, std::span<const Join> joins, MergeForm form)
      : a_(arithmetic), joins_(joins), form_(form), exp_cost_(exponential_cost(arithmetic)) {
    for (const MergeState& state : states) {
      const double error = state.error.count;
      nodes_.push_back({.max = state.max, .total = error, .unrounded = error, .pending = running() ? 0 : error});
      edges_.push_back({.exponent = running() ? error : 0});
    }
    for (const Join& join : joins) {
      edges_.emplace_back();
      nodes_.push_back(this->join(join));
    }
    carry_down(joins, edges_);
  }

  const Node& root() const { return nodes_.back(); }
  const Edge& state(std::size_t c) const { return edges_[c]; }
  double largest() const { return largest_; }
  double constant() const { return constant_; }
  double widest_total() const { return widest_total_; }
  std::vector<Precondition> preconditions() const {
    std::vector<Precondition> all;
    if (!stable()) {
      all.push_back({"e^(new lse - lse) below the f32 range: log of it", exponential_, kLogF32Max, false});
    }
    if (rounds_frame(a_)) all.push_back(head_room(a_, {frame_}, 1));
    if (a_.lse_format != Format::f32) {
      all.push_back({"lse between joins below the range of its format", stored_, info(a_.lse_format).max_finite});
    }
    return all;
  }

 private:
  bool stable() const { return a_.merge_weights == MergeWeights::stable; }
  bool running() const { return a_.merge_weights == MergeWeights::running; }

  /// Upper bound of |computed lse|.
  double size(const Node& node) const { return (std::fabs(node.max.count + node.more) + node.total) * kSlack; }

  Node join(const Join& join) {
    const Node& a = nodes_[join.left];
    const Node& b = nodes_[join.right];
    const double gap = gap_of(a, b);
    const double doubt = (a.total + b.total) * kSlack;
    const double widest = (std::fabs(gap) + doubt) * kSlack;
    const double most = std::max(size(a), size(b));
    const double theta =
        (argument_cost(a_, {widest}, {most}, {most}) + frame_cost(a_, {most}) + exp_cost_).count * kSlack;
    const double log_theta = log_share(-std::fabs(gap) + doubt, theta);  // of ln(1 + e), from e's error
    exponential_ = std::max(exponential_, doubt + theta - gap);
    frame_ = std::max(frame_, most);

    Node node;
    node.max = std::max(a.max, b.max);
    node.more = log_add((a.max - node.max).count + a.more, (b.max - node.max).count + b.more);
    const double below_a = gap_of(a, node), below_b = gap_of(b, node);
    const double mixed = log_add(below_a + a.total, below_b + b.total);
    const double b_only = log_add(below_a + a.total, below_b + b.total + theta);
    // ln(1 + e^x), x <= 0 where the larger one stays outside, else x = b − a.
    const double x = stable() ? std::min(0.0, -std::fabs(gap) + doubt) : -gap + doubt;
    const double log_term = std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))) + theta;
    const double log_error = logarithm_cost(a_.log_error, a_.log_absolute, log_term);
    const double flushed = a_.underflow == Underflow::flush ? 0x1p-120 : 0;
    const double own = (-std::log1p(-kU) + log_error + exp_underflow(a_) + flushed) * kSlack;
    node.unrounded = (stable() ? mixed + log_theta : b_only) * kSlack + own + 0x1p-44;
    const double magnitude = std::fabs(node.max.count + node.more) + node.unrounded;
    node.last = sum_cost(magnitude, log_term + log_error);
    node.total = node.unrounded + node.last;
    double stored = 0;
    if (a_.lse_format != Format::f32 && !is_root()) {
      stored_ = std::max(stored_, magnitude + node.last);
      stored = (unit_roundoff(a_.lse_format) * (magnitude + node.last) + min_subnormal(a_.lse_format) / 2) * kSlack;
      node.total += stored;
    }
    const double local = own + (node.total - node.unrounded);  // beyond what the sides bring along

    if (running()) {
      // The weights of a join use λ^ as it was computed, the next join as it was stored.
      edges_[nodes_.size()].exponent += stored;
      widest_total_ = std::max(widest_total_, node.total);
      take_over(join, node);
    } else {
      charge(join, node, doubt, widest, theta, local);
    }
    largest_ = std::max({largest_, theta, local});
    constant_ = std::max(constant_, constant_share(constant_cost(a_, {widest}), {theta}));
    return node;
  }

  bool is_root() const { return nodes_.size() == 2 * joins_.size(); }

  /// ln(1 + share (e^θ − 1)) with share = 1/(1 + e^{−log_odds}).
  static double log_share(double log_odds, double theta) {
    const double log_p = log_odds < -700 ? log_odds : -std::log1p(std::exp(-log_odds));
    return (theta < 1 ? std::log1p(std::exp(log_p) * std::expm1(theta)) : log_add(0, log_p + theta)) * kSlack;
  }

  /// stable and one_sided.
  void charge(const Join& join, Node& node, double doubt, double widest, double theta, double local) {
    const Node& a = nodes_[join.left];
    const Node& b = nodes_[join.right];
    const double gap = gap_of(a, b);
    const bool in_doubt = std::fabs(gap) <= doubt;  // which side the kernel takes for the smaller
    const double share_a = log_share(gap + doubt, theta);
    const double share_b = log_share(-gap + doubt, theta);
    const double reciprocal = reciprocal_cost(a_, 4);  // of 1 + e
    // e^{−|gap|} and e/s are subnormal; or e^{|gap|} is infinite, and a weight 0.
    const double depth = widest + theta + reciprocal;
    const double lost = stable() ? (depth > kLogMinNormal - 0x1p-10 ? 2 * exp_underflow(a_) : 0)
                                 : (widest + theta > kLogF32Max ? std::exp(std::min(theta, 700.0) - kLogF32Max) : 0);
    const bool a_smaller = gap < 0;
    const Settled settled = settle(a.pending, b.pending, gap);
    for (const bool left : {true, false}) {
      Edge& edge = edges_[left ? join.left : join.right];
      const bool smaller = left == a_smaller;
      const double own = stable() ? (smaller || in_doubt ? theta : 0) : left ? share_b : share_a;
      edge.exponent += own + (left ? settled.left : settled.right);
      edge.lost += smaller || in_doubt ? lost : 0;
      edge.numerator += roundings(form_ == MergeForm::concat ? 1 : 2);
      edge.denominator += stable() ? roundings(2) + reciprocal : roundings(1);
    }
    // One-sided, λ^ has the error of e^{b − a} in it and the weights their own.
    node.pending = settled.pending + local + (stable() ? 0 : share_b);
    if (!stable()) {
      // w_a + w_b <= 1 + p_a (e^x_a − 1) + p_b (e^x_b − 1), the shares p at most 1/(1 + e^{−log odds}).
      const double more_a = scaled_expm1(-std::log1p(std::exp(-gap - doubt)), share_b);
      const double more_b = scaled_expm1(-std::log1p(std::exp(gap - doubt)), share_a);
      node.deviation = std::max(a.deviation, b.deviation) + std::log1p(more_a + more_b);
    }
  }

  /// running: the weights e^{a − λ^}, e^{b − λ^} telescope to e^{λ_c − λ^} of the root.
  void take_over(const Join& join, const Node& node) {
    for (const std::int32_t side : {join.left, join.right}) {
      const Node& from = nodes_[side];
      const double reach = (gap_of(node, from) + from.total + node.total) * kSlack;
      const double cost =
          (argument_cost(a_, {reach}, {size(from)}, {size(node)}) + frame_cost(a_, {size(node)}) + exp_cost_).count;
      edges_[side].exponent += cost;
      edges_[side].lost += reach + cost > kLogMinNormal - 0x1p-10 ? 2 * exp_underflow(a_) : 0;
      edges_[side].numerator += roundings(form_ == MergeForm::concat ? 1 : 2);
      largest_ = std::max(largest_, cost);
      constant_ = std::max(constant_, constant_share(constant_cost(a_, {reach}), {cost}));
    }
  }

  const Arithmetic& a_;
  std::span<const Join> joins_;
  MergeForm form_;
  Nats exp_cost_;
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  double largest_ = 0, constant_ = 0, widest_total_ = 0, exponential_ = -std::numeric_limits<double>::infinity(),
         frame_ = 0, stored_ = 0;
};

}  // namespace

MergePaths lse_tree_paths(const std::vector<MergeState>& states, const Arithmetic& arithmetic,
                          std::span<const Join> joins, MergeForm form) {
  const Walk walk(states, arithmetic, joins, form);
  const Node& root = walk.root();
  const bool running = arithmetic.merge_weights == MergeWeights::running;
  MergePaths paths;
  set_leaves(paths, states);
  Leaves& leaves = paths.row.leaves;
  double unit = 0;                  // Σ e^{λ_c − max λ}: what 1 is in the leaves' units
  double highest = 1, longest = 0;  // over the states: what the weights after a loss are at most, and log units
  for (const double score : leaves.score) unit += std::exp(score - paths.row.frame.max);
  for (std::size_t c = 0; c < states.size(); ++c) {
    const Edge& edge = walk.state(c);
    leaves.exponent[c] = edge.exponent + 0x1p-50 * (paths.row.frame.max - leaves.score[c]);
    leaves.numerator[c] = edge.numerator;
    // Running, the factors after it are e^{λ^_v − λ^_root}: above 1 by what the two are wrong.
    const double above = running ? std::exp(std::min(root.total + walk.widest_total() + edge.exponent, 700.0)) : 1;
    // Otherwise a computed weight is at most 1. The operations with it round: Trees.absolute_longest.
    const double after = std::min(edge.numerator + edge.denominator, kMostGrowth);
    leaves.lost[c] = rounded_later(edge.lost * above * unit, after);
    highest = std::max(highest, above);
    longest = std::max(longest, after);
    paths.node[c] = edge.denominator;
  }
  const auto n = static_cast<double>(states.size());
  paths.row.numerator_underflow =
      n == 1 ? 0 : rounded_later(underflow_of(arithmetic, 4 * n, 4 * n) * unit * highest, longest);
  set_weights(paths);
  paths.total = running ? MergeTotal::free : MergeTotal::joint;
  paths.common = states.size() == 1 ? 0 : running ? root.total : root.deviation;
  // Running, the weights of every node have its own lse^ in them, and their own exponents.
  paths.above = running && states.size() > 1 ? walk.widest_total() + std::ranges::max(leaves.exponent) : paths.common;
  paths.largest = walk.largest();
  paths.constant = walk.constant();
  paths.lse.weights = root.unrounded;
  paths.lse.size = std::fabs(paths.weights.lse);
  Chance chance;
  if (paths.constant > 0) chance.certain(paths.constant * paths.lse.weights);
  chance.add(paths.largest, paths.lse.weights);
  paths.lse.probable = chance.probable(paths.lse.total());
  paths.lse_last = root.last;
  paths.preconditions = walk.preconditions();
  return paths;
}

}  // namespace flashproof::bound
