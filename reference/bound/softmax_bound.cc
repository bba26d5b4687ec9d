// Path counts of the two softmax reductions, and the bound of y_j = e^{x_j − m} / d.
//
// The scores are the inputs, so they and every maximum are exact and the counts below are the kernel's own, not bounds.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/bound/problem_bounds.h"
#include "reference/bound/theorem.h"

namespace flashproof::bound {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// Lane t streams columns t, t + lanes, ...; then a binary tree whose step of size `offset` joins lanes t and t +
/// offset.
void count_strided_online(const std::vector<double>& x, int lanes, std::vector<Leaf>& leaves) {
  std::vector<double> m(lanes, -kInf);
  std::vector<int> leaf_of(x.size(), -1);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    leaf_of[leaves[i].key] = static_cast<int>(i);
  }
  // Backwards through each lane would count later events directly; forwards we keep running totals and subtract.
  std::vector<int> rises(lanes, 0);
  std::vector<int> adds(lanes, 0);
  std::vector<int> rises_before(leaves.size());
  std::vector<int> adds_before(leaves.size());
  for (std::size_t column = 0; column < x.size(); ++column) {
    const int i = leaf_of[column];
    if (i < 0) {
      continue;  // −inf adds exactly 0 and moves no maximum
    }
    const std::size_t lane = column % lanes;
    const bool first = m[lane] == -kInf;
    const bool rise = x[column] > m[lane];
    rises[lane] += rise && !first;
    adds_before[i] = adds[lane];
    adds[lane] += !first;  // 0·e + 1 is exact
    rises_before[i] = rises[lane];
    leaves[i].exps = rise ? 0 : 1;
    m[lane] = std::max(m[lane], x[column]);
  }
  std::vector<int> tree_rises(lanes, 0);  // by original lane
  std::vector<int> tree_adds(lanes, 0);
  for (int offset = lanes / 2; offset > 0; offset /= 2) {
    for (int lane = 0; lane < lanes; ++lane) {
      const int a = lane % (2 * offset) % offset;
      const double mine = m[lane % (2 * offset)];
      const double joined = std::max(m[a], m[a + offset]);
      tree_rises[lane] += mine < joined;
      tree_adds[lane] += m[a] != -kInf && m[a + offset] != -kInf;
    }
    for (int a = 0; a < offset; ++a) {
      m[a] = std::max(m[a], m[a + offset]);
    }
  }
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const auto lane = static_cast<std::size_t>(leaves[i].key) % lanes;
    const int later_rises = rises[lane] - rises_before[i] + tree_rises[lane];
    leaves[i].exps += later_rises;
    leaves[i].denominator = later_rises + adds[lane] - adds_before[i] + tree_adds[lane];
  }
}

/// Chunks in visiting order: every key enters in the running frame; lane sums, butterfly of 5, left fold over the
/// warps.
void count_chunked_online(const SoftmaxProblem& problem, const Arithmetic& arithmetic, std::vector<Leaf>& leaves) {
  struct Visit {
    double high = -kInf;
    bool rises = false;
  };
  const auto& plan = problem.plan;
  const int butterfly = log2_ceil(arithmetic.lanes / arithmetic.warps);
  std::vector<int> chunk_of;  // by leaf: position in the visiting order
  std::vector<Visit> visits(plan.chunks());
  chunk_of.resize(leaves.size());
  for (int n = 0; n < plan.chunks(); ++n) {
    const int c = plan.order[n];
    std::vector<int> in_lane(arithmetic.lanes, 0);
    for (std::size_t i = leaves.size(); i-- > 0;) {
      Leaf& leaf = leaves[i];
      if (leaf.key < plan.boundary[c] || leaf.key >= plan.boundary[c + 1]) {
        continue;
      }
      chunk_of[i] = n;
      visits[n].high = std::max(visits[n].high, leaf.score);
      leaf.denominator = ++in_lane[(leaf.key - plan.boundary[c]) % arithmetic.lanes] + butterfly + arithmetic.warps - 1;
    }
  }
  double m = -kInf;
  for (Visit& visit : visits) {
    visit.rises = visit.high > m && m != -kInf;
    m = std::max(m, visit.high);
  }
  // From the last chunk to the first: what happens to a sum after its chunk.
  std::vector<int> later_rises(plan.chunks() + 1, 0);
  std::vector<int> later_adds(plan.chunks() + 1, 0);
  for (int n = plan.chunks() - 1; n >= 0; --n) {
    later_rises[n] = later_rises[n + 1] + visits[n].rises;
    later_adds[n] = later_adds[n + 1] + (visits[n].high != -kInf);
  }
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const int n = chunk_of[i];
    leaves[i].exps = 1 + later_rises[n + 1];
    leaves[i].denominator += later_rises[n + 1] + later_adds[n];
  }
}

}  // namespace

Bound softmax_bound(const SoftmaxProblem& problem, const Arithmetic& arithmetic) {
  const std::int64_t rows = problem.x.shape[0];
  const std::int64_t cols = problem.x.shape[1];
  Bound bound = zero_bound(rows, cols);
  const int lanes = arithmetic.lanes > 0 ? arithmetic.lanes : arithmetic.lanes_of(cols);
  const int store = problem.x.format == Format::f32 ? 0 : 1;  // the f32 result before the storage rounding
  const int ending = store + (arithmetic.ending == Ending::multiply_reciprocal ? 1 : 0);

  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t length = problem.row_length.empty() ? cols : problem.row_length[row];
    RowModel model = model_for(arithmetic);
    std::vector<double> x(cols, -kInf);
    bool symbolic = false;
    for (std::int64_t j = 0; j < length; ++j) {
      x[j] = problem.x.at({row, j});
      symbolic = symbolic || std::isnan(x[j]) || x[j] == kInf;
      if (x[j] != -kInf) {
        model.leaves.push_back({.key = j, .score = x[j]});
      }
    }
    if (symbolic || model.leaves.empty()) {
      continue;
    }
    if (arithmetic.reduction == Reduction::strided_online) {
      count_strided_online(x, lanes, model.leaves);
    } else {
      count_chunked_online(problem, arithmetic, model.leaves);
    }
    // A rescaling product per column and two per lane in the tree may underflow.
    model.denominator_underflow = (static_cast<double>(model.leaves.size()) + 2.0 * lanes) * kEtaRound * (1 + 0x1p-10);
    const RowWeights weights = perturbed_weights(model);
    bound.lse[row] = lse_bound(weights, arithmetic.log_error);

    const double m = *std::ranges::max_element(x);
    for (std::size_t i = 0; i < model.leaves.size(); ++i) {
      // The numerator is computed afresh from the final maximum: its own exponential, not the one in the sum.
      const double below = m - model.leaves[i].score;
      const double own = below == 0 ? 0 : model.exponent_slope * below - std::log1p(-model.exp_error) + 0x1p-50 * below;
      const double flushed = below + own > 87.3365 ? kExpUnderflowError / std::exp(weights.lse - m) : 0;
      const double y = weights.p[i];
      const double spread = 1 / weights.low;  // the computed sum of weights is at least `low` of the exact one
      ElementBound& element = bound.o[row * cols + model.leaves[i].key];
      // Too small a sum makes y too large by y (1/low − 1), too large a one makes it too small by y (1 − 1/up).
      element.weights = (y * std::max(spread - 1, 1 - 1 / weights.up) + weights.slop[i]) * kSlack;
      element.numerator = (scaled_expm1(m - weights.lse - below, own) + flushed) * spread * kSlack;
      element.denominator = denominator_error(weights, y + element.weights + element.numerator);
      element.output = ending_error(ending, y + element.weights + element.numerator + element.denominator) * kSlack;
      bound.range[row * cols + model.leaves[i].key] = 1;
    }
  }
  return bound;
}

}  // namespace flashproof::bound
