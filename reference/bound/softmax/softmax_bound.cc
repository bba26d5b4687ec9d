// y_j = e^{x_j − m} / d: the numerator is computed afresh, so it errs independently of the sum. Derivation: README.md.
#include <algorithm>
#include <cmath>

#include "reference/bound/costs.h"
#include "reference/bound/problem_bounds.h"
#include "reference/bound/row/decode_row.h"
#include "reference/bound/row/theorem.h"
#include "reference/bound/softmax/softmax_quotient.h"
#include "reference/bound/softmax/softmax_row.h"
#include "reference/bound/vector/kernels.h"
#include "reference/problem/special_values.h"

namespace flashproof::bound {

namespace {

/// −inf where nothing is visible. False where the answer is symbolic: a NaN, a +inf, or nothing at all.
bool read_row(const SoftmaxProblem& problem, std::int64_t row, std::vector<double>& x) {
  const std::int64_t length = problem.row_length.empty() ? problem.x.shape[1] : problem.row_length[row];
  x.assign(problem.x.shape[1], -kInfinity);
  decode_row(problem.x, problem.x.offset({row, 0}), problem.x.stride[1], length, x.data());
  bool some = false, symbolic = false;
  for (const double value : x) {
    some |= value > -kInfinity;
    symbolic |= !(value < kInfinity);
  }
  return some && !symbolic;
}

/// Roundings between the quotient of exact parts and the f32 result; the last one belongs to the storage format.
EndingModel ending_of(const Arithmetic& a, Format storage, const SoftmaxRow& row) {
  const int store = storage == Format::f32 ? 0 : 1;
  int products = store;
  double units = reciprocal_cost(a, row.largest_sum);
  if (a.reduction == Reduction::chunk_states) {
    // The chunk's own quotient, times d (only max_sum), times its weight; and every quotient may be a product.
    products += a.merge_weights == MergeWeights::max_sum ? 3 : 2;
    units *= 2;
  }
  const double inverse = a.ending == Ending::multiply_reciprocal ? 1 : 0;
  // Before the division, absolute errors stand beside the sum, which may be below 1 where nothing is subtracted, or a
  // frame is off.
  const double lost = underflow_of(a, products + inverse, 0);
  return {units + roundings(products), lost == 0 ? 0 : lost * std::max(1.0, row.unit / row.weights.sum)};
}

/// Flushed results: the storage rounding knows only gradual underflow.
double flushed_result(const Arithmetic& a) { return a.underflow == Underflow::flush ? 0x1p-126 : 0; }

QuotientCosts costs_of(const SoftmaxRow& row, const Arithmetic& a, const EndingModel& ending) {
  const RowWeights& weights = row.weights;
  const bool alone = !row.paths.chunks.empty();
  QuotientCosts costs;
  costs.denominator = denominator_error(weights, 1);
  costs.ending = growth(ending.log_units);
  costs.ending_lost = ending.underflow == 0 ? 0 : (1 + costs.ending) * ending.underflow;
  const double lost = (alone ? 2 : 1) * exp_underflow(a) * row.unit;
  costs.flushed = lost == 0 ? 0 : lost / weights.sum;  // the sum may be 0 where nothing is known of it
  costs.deepest = kLogMinNormalBelow - (alone ? std::log(static_cast<double>(weights.p.size())) : 0);
  costs.flushed_result = flushed_result(a);
  costs.largest_own = row.largest_own;
  costs.shared = growth(row.shared);
  costs.rounding = growth(roundings(1));
  costs.constant_mean = row.constant_mean;
  return costs;
}

SumError sum_error(const Shares& shares) { return {shares.most, std::max(shares.most - 1, 1 - shares.least)}; }

/// One sum, in the frame of the maximum.
void bound_in_frame(const SoftmaxRow& row, const Arithmetic& a, const EndingModel& ending, ElementBound* bounds) {
  const auto n = static_cast<std::int64_t>(row.weights.p.size());
  QuotientRow q;
  q.costs = costs_of(row, a, ending);
  q.sum = sum_error(row.shares.front());
  q.max = row.paths.max;
  q.log_sum = row.log_sum;
  q.common = row.model.common;
  const ArgumentCosts argument(a, {row.paths.max});
  const double exponential = exponential_cost(a).count;
  q.gap = argument.gap;
  q.size = argument.size;
  q.rest = argument.rest + exponential;
  // Of x − x, but for fma(x, ĉ, −fl(x·ĉ)), the exponential is 1.
  q.rest_at_max = a.exponent == Exponent::fused ? q.rest : rounds_frame(a) ? argument.rest : 0;
  q.x = row.model.leaves.score.data();
  q.y = row.weights.p.data();
  q.slop = row.weights.slop.data();
  q.constant = row.constant_growth.data();
  q.column = row.model.leaves.key.data();
  std::int64_t first = 0;  // of what the vectors did not do
  if (kernels::supported()) {
    first = n / 8 * 8;
    std::vector<std::int64_t> left(static_cast<std::size_t>(n / 8));
    left.resize(static_cast<std::size_t>(kernels::quotients(q, first, bounds, left.data())));
    for (const std::int64_t group : left) {
      for (std::int64_t j = group; j < group + 8; ++j) bounds[q.column[j]] = quotient(q.costs, q.sum, q.key(j));
    }
  }
  for (std::int64_t j = first; j < n; ++j) bounds[q.column[j]] = quotient(q.costs, q.sum, q.key(j));
}

/// e^x in place of e^{x − m}, or chunks that stand alone: y's exponential is the sum's.
void bound_apart(const SoftmaxRow& row, const Arithmetic& a, const EndingModel& ending, ElementBound* bounds) {
  const QuotientCosts costs = costs_of(row, a, ending);
  const bool alone = !row.paths.chunks.empty();
  const double frame = row.paths.max + row.model.common;
  const double from = row.shifted ? frame : alone ? std::max(frame, 0.0) : 0;
  for (std::size_t j = 0; j < row.paths.size(); ++j) {
    const double x = row.paths.x[j];
    bounds[row.paths.column[j]] = quotient(costs, sum_error(row.shares[alone ? row.paths.chunk[j] : 0]),
                                           {.log_y = x - row.paths.max - row.log_sum,
                                            .y = row.weights.p[j],
                                            .slop = row.weights.slop[j],
                                            .own = row.own[j],
                                            .path = from - x,
                                            .constant = row.constant_growth[j]});
  }
}

/// y_j = e^{x_j − lse^}: lse's whole error, its last rounding included, multiplies y; nothing cancels.
void bound_division_free(const SoftmaxRow& row, const Arithmetic& a, const EndingModel& ending, ElementBound* bounds) {
  const QuotientCosts costs = costs_of(row, a, ending);
  const double exponential = exponential_cost(a).count;
  const double lse = row.weights.lse;
  const double error = row.lse.total() + row.lse_last;
  const double size = std::fabs(lse) + error;
  const double frame = frame_cost(a, {size}).count;
  const auto grown = [](double log_units, double magnitude) {
    return log_units == 0 || magnitude == 0 ? 0 : growth(log_units) * magnitude * kSlack;
  };
  for (std::size_t j = 0; j < row.paths.size(); ++j) {
    const double x = row.paths.x[j];
    const double y = row.weights.p[j];
    const double own = argument_cost(a, {lse - x + error}, {x}, {size}).count + exponential;
    const double path = lse - x + own + error + frame;
    const double flushed = path > kLogMinNormalBelow ? exp_underflow(a) : 0;
    ElementBound bound;
    bound.size = y;
    bound.weights = grown(row.lse.weights, y) + row.weights.slop[j];
    bound.numerator = grown(own, y + bound.weights) + flushed;
    bound.denominator = grown(row.lse.denominator, y + bound.weights + bound.numerator);
    bound.output =
        grown(row.lse.output + row.lse_last + frame, y + bound.weights + bound.numerator + bound.denominator) +
        costs.flushed_result;
    costs.add_chance(growth(constant_cost(a, {std::fabs(lse - x) + error}).count), bound);
    bounds[row.paths.column[j]] = bound;
  }
}

}  // namespace

Bound softmax_bound(const SoftmaxProblem& problem, const Arithmetic& arithmetic) {
  const std::int64_t rows = problem.x.shape[0];
  const std::int64_t cols = problem.x.shape[1];
  Bound bound = zero_bound(rows, cols);
  std::vector<double> x;
  for (std::int64_t r = 0; r < rows; ++r) {
    if (!read_row(problem, r, x)) continue;
    const SoftmaxRow row = softmax_row(problem, arithmetic, x);
    const EndingModel ending = ending_of(arithmetic, problem.x.format, row);
    bound.lse[r] = row.lse;
    bound.frame[r] = std::log(static_cast<double>(cols)) * kSlack;
    for (const Precondition& precondition : row.preconditions) bound.domain[r].require(precondition);
    ElementBound* const bounds = &bound.o[r * cols];
    if (arithmetic.ending == Ending::division_free) {
      bound_division_free(row, arithmetic, ending, bounds);
    } else if (row.paths.chunks.empty() && row.shifted) {
      bound_in_frame(row, arithmetic, ending, bounds);
    } else {
      bound_apart(row, arithmetic, ending, bounds);
    }
    for (const std::int64_t column : row.paths.column) bound.range[r * cols + column] = 1;
  }
  return bound;
}

std::vector<Precondition> softmax_preconditions(const SoftmaxProblem& problem, const Arithmetic& arithmetic,
                                                std::int64_t row) {
  std::vector<double> x;
  if (!read_row(problem, row, x)) return {};
  return softmax_row(problem, arithmetic, x).preconditions;
}

}  // namespace flashproof::bound
