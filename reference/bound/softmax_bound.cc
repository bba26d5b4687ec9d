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
void count_strided_online(const std::vector<double>& x, int lanes, Leaves& leaves, std::vector<int>& exps) {
  std::vector<double> m(lanes, -kInf);
  std::vector<int> leaf_of(x.size(), -1);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    leaf_of[leaves.key[i]] = static_cast<int>(i);
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
    exps[i] = rise ? 0 : 1;
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
    const auto lane = static_cast<std::size_t>(leaves.key[i]) % lanes;
    const int later_rises = rises[lane] - rises_before[i] + tree_rises[lane];
    exps[i] += later_rises;
    leaves.denominator[i] = roundings(later_rises + adds[lane] - adds_before[i] + tree_adds[lane]);
  }
}

/// Chunks in visiting order: every key enters in the running frame; lane sums, butterfly of 5, left fold over the
/// warps.
void count_chunked_online(const SoftmaxProblem& problem, const Arithmetic& arithmetic, Leaves& leaves,
                          std::vector<int>& exps) {
  struct Visit {
    double high = -kInf;
    bool rises = false;
  };
  const auto& plan = problem.plan;
  const int butterfly = log2_ceil(arithmetic.lanes / arithmetic.warps);
  std::vector<int> chunk_of;  // by leaf: position in the visiting order
  std::vector<Visit> visits(plan.chunks());
  chunk_of.resize(leaves.size());
  std::vector<int> sums(leaves.size());
  for (int n = 0; n < plan.chunks(); ++n) {
    const int c = plan.order[n];
    std::vector<int> in_lane(arithmetic.lanes, 0);
    for (std::size_t i = leaves.size(); i-- > 0;) {
      const std::int64_t key = leaves.key[i];
      if (key < plan.boundary[c] || key >= plan.boundary[c + 1]) {
        continue;
      }
      chunk_of[i] = n;
      visits[n].high = std::max(visits[n].high, leaves.score[i]);
      sums[i] = ++in_lane[(key - plan.boundary[c]) % arithmetic.lanes] + butterfly + arithmetic.warps - 1;
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
    exps[i] = 1 + later_rises[n + 1];
    leaves.denominator[i] = roundings(sums[i] + later_rises[n + 1] + later_adds[n]);
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
    RowModel model;
    Leaves& leaves = model.leaves;
    std::vector<double> x(cols, -kInf);
    bool symbolic = false;
    for (std::int64_t j = 0; j < length; ++j) {
      x[j] = problem.x.at({row, j});
      symbolic = symbolic || std::isnan(x[j]) || x[j] == kInf;
      if (x[j] != -kInf) {
        leaves.key.push_back(j);
        leaves.score.push_back(x[j]);
      }
    }
    if (symbolic || leaves.size() == 0) {
      continue;
    }
    leaves.resize(leaves.size());
    model.frame = frame_of(leaves);
    std::vector<int> exps(leaves.size());
    if (arithmetic.reduction == Reduction::strided_online) {
      count_strided_online(x, lanes, leaves, exps);
    } else {
      count_chunked_online(problem, arithmetic, leaves, exps);
    }
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      charge_path(model, arithmetic, i, exps[i], 0);
    }
    // A rescaling product per column and two per lane in the tree may underflow.
    model.denominator_underflow =
        (static_cast<double>(leaves.size()) + 2.0 * lanes) * product_underflow(arithmetic) * (1 + 0x1p-10);
    const RowWeights weights = perturbed_weights(model);
    bound.lse[row] = lse_bound(weights, arithmetic.log_error);

    const double m = *std::ranges::max_element(x);
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      // The numerator is computed afresh from the final maximum: its own exponential, not the one in the sum.
      const double below = m - leaves.score[i];
      const double own =
          below == 0 ? 0 : exponent_slope(arithmetic) * below - std::log1p(-arithmetic.exp_error) + 0x1p-50 * below;
      const double flushed = below + own > 87.3365 ? exp_underflow(arithmetic) / std::exp(weights.lse - m) : 0;
      const double y = weights.p[i];
      const double spread = 1 / weights.low;  // the computed sum of weights is at least `low` of the exact one
      ElementBound& element = bound.o[row * cols + leaves.key[i]];
      // Too small a sum makes y too large by y (1/low − 1), too large a one makes it too small by y (1 − 1/up).
      element.weights = (y * std::max(spread - 1, 1 - 1 / weights.up) + weights.slop[i]) * kSlack;
      element.numerator = (scaled_expm1(m - weights.lse - below, own) + flushed) * spread * kSlack;
      element.denominator = denominator_error(weights, y + element.weights + element.numerator);
      element.output = ending_error(ending, y + element.weights + element.numerator + element.denominator) * kSlack;
      bound.range[row * cols + leaves.key[i]] = 1;
    }
  }
  return bound;
}

}  // namespace flashproof::bound
