// The pairwise fold (README.md section 5): states are exact, each node renormalises, so a leaf pays for the exponents
// on the smaller side of its nodes and for the computed lse of every node but the root.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/bound/problem_bounds.h"
#include "reference/bound/theorem.h"

namespace flashproof::bound {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct State {
  std::int64_t index;    // in the problem
  double lse;            // relative to the largest of the row, <= 0
  double exponent = 0;   // H_c: log-error of its weight at the root
  double underflow = 0;  // absolute, beside a total weight of 1
  int nodes = 0;         // merges on its path
};

double log_add(double a, double b) {
  const double larger = std::max(a, b);
  return larger + std::log1p(std::exp(std::min(a, b) - larger));
}

/// Follows the fold over the states in visiting order, charges every node to leaves below it, and returns the bound of
/// the root's lse without its last rounding. `largest` is what the relative lse values were reduced by.
double follow(std::vector<State>& states, double largest, const Arithmetic& arithmetic) {
  const bool stable = arithmetic.merge_weights == MergeWeights::stable;
  const double exp_log = -std::log1p(-arithmetic.exp_error);
  double lse = states.front().lse;
  double total = 0;      // |computed lse of the accumulated state − exact|, its last rounding included
  double pending = 0;    // the errors of nodes so far that no leaf has been charged with
  double unrounded = 0;  // total without the last rounding
  for (std::size_t k = 1; k < states.size(); ++k) {
    const double gap = lse - states[k].lse;  // accumulated minus new
    const double widest = (std::fabs(gap) + total) * kSlack;
    const double theta = (kU * widest + exp_log) * kSlack;  // log-error of e^{−|gap|}
    const bool in_doubt = std::fabs(gap) <= total;          // which side the kernel takes for the smaller
    const double flushed = stable && widest + theta > 87.3365 ? 2 * exp_underflow(arithmetic) : 0;
    // Errors of the accumulated lse move all its leaves alike. Only ratios count: either the accumulated leaves take
    // them over, or the new one takes their negative and they stay pending. The smaller side pays.
    const bool acc_pays = gap < 0;
    for (std::size_t c = 0; c <= k; ++c) {
      const bool smaller = (c < k) == acc_pays;
      states[c].exponent += (!stable || smaller || in_doubt ? theta : 0) + (smaller ? pending : 0);
      states[c].underflow += smaller || in_doubt ? flushed : 0;
      ++states[c].nodes;
    }

    const double merged = log_add(lse, states[k].lse);
    // One-sided: e^{new − acc} errs by theta. Stable: the smaller side does; the larger cannot gain more.
    const double acc_shift = total + (stable ? theta : 0);
    const double inherited = std::log(std::exp(lse - merged + acc_shift) + std::exp(states[k].lse - merged + theta));
    const double tight = total + std::log1p(scaled_expm1(-std::max(0.0, std::fabs(gap) - total), theta));
    // ln(1 + e): at most ln 2; one-sided up to the height of the new state above the accumulated one
    const double log_term = std::log(2.0) + (stable ? theta : std::max(0.0, -gap + total) + theta);
    const double own = (-std::log1p(-kU) + arithmetic.log_error * log_term + exp_underflow(arithmetic)) * kSlack;
    unrounded = (stable ? std::min(inherited, tight) : inherited) * kSlack + own + 0x1p-44;
    const double last = kU * (std::fabs(largest + merged) + unrounded) * kSlack;
    total = unrounded + last;
    pending = (acc_pays ? 0 : pending) + own + last + (stable ? 0 : theta);
    lse = merged;
  }
  return unrounded;
}

/// Weights at the root in the form of the theorem; `sum` is Σ e^{lse} of the relative values.
RowWeights root_weights(const std::vector<State>& states, double sum) {
  RowWeights weights;
  double low = 0;
  double q_sum = 0;
  for (const State& state : states) {
    const double log_p = state.lse - std::log(sum);
    const double exponent = state.exponent * kSlack - 0x1p-50 * state.lse;
    weights.p.push_back(std::exp(log_p));
    weights.q.push_back((scaled_expm1(log_p, exponent) + state.underflow) * kSlack);
    weights.slop.push_back(0x1p-36 * weights.p.back());
    q_sum += weights.q.back();
    low += std::max(0.0, std::exp(log_p - exponent) - state.underflow);
  }
  weights.low = low / kSlack;
  weights.up = (1 + q_sum) * kSlack;
  weights.lse_weights =
      std::max(std::log(weights.up), -std::log(weights.low)) * kSlack;  // the root's total against Σ e^λ
  return weights;
}

/// One element of a rescaled block: not renormalised, so the root's total weight does not cancel. A computed weight is
/// at most 1, whatever the lse values, so its error is too.
ElementBound block_bound(const RowModel& model, const RowWeights& weights, const State& state, std::size_t c,
                         double sum, double size) {
  const double exact = weights.p[c] * size;
  const double underflow = state.underflow == 0 ? 0 : state.underflow / weights.low;  // low may be 0
  const double weight_error =
      scaled_expm1(state.lse - std::log(sum), state.exponent + weights.lse_weights) + underflow + weights.slop[c];
  ElementBound element;
  element.weights = std::min(weight_error, 1.0) * size * kSlack;
  element.numerator =
      growth(model.leaves.numerator[c]) * (exact + element.weights) * kSlack + model.numerator_underflow;
  element.denominator = growth(model.leaves.denominator[c]) * (exact + element.weights + element.numerator) * kSlack;
  return element;
}

}  // namespace

Bound merge_bound(const MergeProblem& problem, const Arithmetic& arithmetic) {
  const std::int64_t n = problem.o.shape[0];
  const std::int64_t rows = problem.o.shape[1];
  const std::int64_t dv = problem.o.shape[2];
  const bool concat = problem.form == MergeForm::concat;
  const std::int64_t width = concat ? n * dv : dv;
  Bound bound = zero_bound(rows, width);
  const bool stable = arithmetic.merge_weights == MergeWeights::stable;
  const int store = problem.o.format == Format::f32 ? 0 : 1;

  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<State> states;
    bool symbolic = false;
    double largest = -kInf;
    for (const std::int32_t index : problem.order) {
      const double lse = problem.lse.at({index, row});
      symbolic = symbolic || std::isnan(lse) || lse == kInf;
      if (lse != -kInf) {
        states.push_back({.index = index, .lse = lse});
        largest = std::max(largest, lse);
      }
    }
    if (symbolic || states.empty()) {
      continue;
    }
    for (State& state : states) {
      state.lse -= largest;
    }
    const double lse_error = follow(states, largest, arithmetic);
    const bool merged = states.size() > 1;  // a single state is copied: exact
    bound.lse[row].weights = merged ? lse_error : 0;

    // Per node: stable rounds 1 + e and the quotient (charged to the denominator), the product and the sum
    // (numerator); one-sided rounds 1 + e (denominator) and the quotient with the value (numerator). The last one into
    // f32 is the output rounding.
    RowModel model;
    model.leaves.resize(states.size());
    for (std::size_t c = 0; c < states.size(); ++c) {
      model.leaves.numerator[c] = roundings((stable && !concat ? 2 : 1) * states[c].nodes - 1 + store);
      model.leaves.denominator[c] = roundings((stable ? 2 : 1) * states[c].nodes);
    }
    model.numerator_underflow = 4 * static_cast<double>(states.size()) * product_underflow(arithmetic);
    double sum = 0;
    for (const State& state : states) {
      sum += std::exp(state.lse);
    }
    const RowWeights weights = root_weights(states, sum);

    std::vector<double> values(states.size());
    for (std::int64_t column = 0; column < dv; ++column) {
      bool finite = true;
      for (std::size_t c = 0; c < states.size(); ++c) {
        values[c] = problem.o.at({states[c].index, row, column});
        finite = finite && std::isfinite(values[c]);
        if (concat && std::isfinite(values[c])) {
          const std::int64_t at = row * width + states[c].index * dv + column;
          bound.range[at] = vacuity_range(0, std::fabs(values[c]));
          if (merged) {
            bound.o[at] = block_bound(model, weights, states[c], c, sum, std::fabs(values[c]));
          }
        }
      }
      if (concat || !finite) {
        continue;
      }
      double& range = bound.range[row * width + column];
      // A node's two rounded weights sum to 1 within a few u: a mean of the largest values may leave the range.
      double largest = 0;
      for (const double value : values) {
        largest = std::max(largest, std::fabs(value));
      }
      if (merged && largest * (1 + growth(roundings(4 * static_cast<double>(states.size())))) >= kF32Max) {
        bound.accumulator_outside[row * width + column] = 1;
      }
      ElementBound element = column_bound(model, weights, values, 0, range);
      // The weights of a node are rounded separately and nothing divides by their sum: Σ p|o_c| counts, not |o|.
      element.denominator =
          weights.average([&](std::size_t c) { return growth(model.leaves.denominator[c]) * std::fabs(values[c]); }) *
          (1 + growth(roundings(2 * static_cast<double>(states.size())))) * kSlack;
      bound.o[row * width + column] = merged ? element : ElementBound{};
    }
  }
  return bound;
}

}  // namespace flashproof::bound
