// y_j = e^{x_j − m} / d: the numerator is computed afresh, so it errs independently of the sum. Derivation: softmax.md.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/bound/costs.h"
#include "reference/bound/problem_bounds.h"
#include "reference/bound/softmax_row.h"
#include "reference/bound/theorem.h"

namespace flashproof::bound {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// −inf where nothing is visible. False where the answer is symbolic: a NaN, a +inf, or nothing at all.
bool read_row(const SoftmaxProblem& problem, std::int64_t row, std::vector<double>& x) {
  const std::int64_t length = problem.row_length.empty() ? problem.x.shape[1] : problem.row_length[row];
  x.assign(problem.x.shape[1], -kInf);
  bool some = false;
  const std::int64_t first = problem.x.offset({row, 0}), step = problem.x.stride[1];
  for (std::int64_t j = 0; j < length; ++j) {
    x[j] = decode(problem.x.format, problem.x.bits(first + j * step));
    if (std::isnan(x[j]) || x[j] == kInf) return false;
    some = some || x[j] != -kInf;
  }
  return some;
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

/// What a flushed result costs: the storage rounding knows only gradual underflow.
double flushed_result(const Arithmetic& a) { return a.underflow == Underflow::flush ? 0x1p-126 : 0; }

/// What the elements of a row have in common. Each of these is an exponential or a logarithm, and those are what the
/// evaluation of a row takes its time with.
struct RowCosts {
  double exponential;      // exponential_cost()
  double ending;           // e^x − 1 of the ending's log units
  double largest_own = 0;  // one key's exponential moves the sum by its own share of it: the largest of these
  double shared;           // e^x − 1 of row.shared
  double rounding;         // of one rounding

  RowCosts(const SoftmaxRow& row, const Arithmetic& a, const EndingModel& model)
      : exponential(exponential_cost(a)),
        ending(growth(model.log_units)),
        shared(growth(row.shared)),
        rounding(growth(roundings(1))) {
    for (std::size_t k = 0; k < row.weights.p.size(); ++k) {
      const double own = row.model.leaves.own[k];
      largest_own = std::max(largest_own, row.weights.p[k] * (own == 0 ? 0 : growth(own)));
    }
  }
};

/// ending_error() with its exponential taken.
double ending_error(const EndingModel& ending, const RowCosts& costs, double magnitude) {
  if (ending.log_units == 0) return ending.underflow;
  return (magnitude == 0 ? 0 : costs.ending * magnitude) +
         (ending.underflow == 0 ? 0 : (1 + costs.ending) * ending.underflow);
}

ElementBound quotient(const SoftmaxRow& row, const Arithmetic& a, std::size_t j, const EndingModel& ending,
                      const RowCosts& costs) {
  const SoftmaxKey& key = row.paths.keys[j];
  const RowWeights& weights = row.weights;
  const double y = weights.p[j];
  const Shares& shares = row.shares[row.paths.chunks.empty() ? 0 : key.chunk];
  // Its own exponential, in the final frame or, where the chunks stand alone, in its chunk's.
  const bool alone = !row.paths.chunks.empty();
  double own = row.own[j];
  if (!alone && a.reduction != Reduction::unshifted) {
    const double below = row.paths.max - key.x;
    const bool exact = below == 0 && a.exponent != Exponent::fused;
    own =
        exact && !rounds_frame(a) ? 0 : argument_cost(a, below, key.x, row.paths.max) + (exact ? 0 : costs.exponential);
  }
  const double frame = row.paths.max + row.model.common;
  const double path = (row.shifted ? frame : alone ? std::max(frame, 0.0) : 0) - key.x;
  const bool subnormal = path + own > 87.3365 - (alone ? std::log(static_cast<double>(weights.p.size())) : 0);
  const double lost = subnormal ? (alone ? 2 : 1) * exp_underflow(a) * row.unit : 0;
  const double flushed = lost == 0 ? 0 : lost / weights.sum;  // the sum may be 0 where nothing is known of it

  ElementBound bound;
  bound.size = y;
  // Too small a sum makes y too large by y (1/low − 1), too large a one makes it too small by y (1 − 1/up).
  const double moved = std::max(shares.most - 1, 1 - shares.least);
  const double alone_error = scaled_expm1(key.x - row.paths.max - row.log_sum, own);
  bound.weights = ((y == 0 ? 0 : y * moved) + weights.slop[j]) * kSlack;  // a share may be inf
  bound.numerator = ((alone_error == 0 ? 0 : alone_error * shares.most) + flushed) * kSlack;
  const double finite = std::numeric_limits<double>::max();  // no rounding of inf is inf · 0
  bound.denominator = denominator_error(weights, std::min(y + bound.weights + bound.numerator, finite));
  bound.output =
      ending_error(ending, costs, y + bound.weights + bound.numerator + bound.denominator) * kSlack + flushed_result(a);
  return bound;
}

/// y_j = e^{x_j − lse^}: lse's whole error, its last rounding included, multiplies y; nothing cancels.
ElementBound division_free(const SoftmaxRow& row, const Arithmetic& a, std::size_t j, const RowCosts& costs) {
  const double x = row.paths.keys[j].x;
  const double lse = row.weights.lse;
  const double error = row.lse.total() + row.lse_last;
  const double size = std::fabs(lse) + error;
  const double y = row.weights.p[j];
  const double own = argument_cost(a, lse - x + error, x, size) + costs.exponential;
  const double path = lse - x + own + error + frame_cost(a, size);
  const double flushed = path > 87.3365 ? exp_underflow(a) : 0;
  const auto grown = [](double log_units, double magnitude) {
    return magnitude == 0 ? 0 : growth(log_units) * magnitude * kSlack;
  };
  ElementBound bound;
  bound.size = y;
  bound.weights = grown(row.lse.weights, y) + row.weights.slop[j];
  bound.numerator = grown(own, y + bound.weights) + flushed;
  bound.denominator = grown(row.lse.denominator, y + bound.weights + bound.numerator);
  bound.output = grown(row.lse.output + row.lse_last + frame_cost(a, size),
                       y + bound.weights + bound.numerator + bound.denominator) +
                 flushed_result(a);
  return bound;
}

/// A factor that many keys share moves the sum by at most all of it.
void add_chance(const SoftmaxRow& row, const Arithmetic& a, std::size_t j, const RowCosts& costs, ElementBound& bound) {
  Chance chance;
  // The constant log2 e errs alike in the numerator and in every exponential of the sum.
  double constant = row.constant_growth[j];
  if (a.ending == Ending::division_free) {
    constant =
        growth(constant_cost(a, std::fabs(row.weights.lse - row.paths.keys[j].x) + row.lse.total() + row.lse_last));
  }
  if (bound.size > 0) chance.certain((constant + row.constant_mean) * bound.size);
  chance.add((costs.largest_own + costs.shared) * bound.size, bound.weights);
  chance.add(bound.numerator, bound.numerator);
  chance.add(costs.rounding * bound.size, bound.denominator);
  chance.add(bound.output, bound.output);
  bound.probable = chance.probable(bound.total());
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
    const RowCosts costs(row, arithmetic, ending);
    bound.lse[r] = row.lse;
    for (const Precondition& precondition : row.preconditions) bound.domain[r].require(precondition);
    for (std::size_t j = 0; j < row.paths.keys.size(); ++j) {
      const std::int64_t at = r * cols + row.paths.keys[j].column;
      bound.o[at] = arithmetic.ending == Ending::division_free ? division_free(row, arithmetic, j, costs)
                                                               : quotient(row, arithmetic, j, ending, costs);
      add_chance(row, arithmetic, j, costs, bound.o[at]);
      bound.range[at] = 1;
    }
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
