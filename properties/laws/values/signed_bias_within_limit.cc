// Rounding to nearest is centred: a mean over many rows comes near 0. Data with a known answer: column c of every value is
// one positive number v_c, exact in its format, so o = v_c whatever the weights; q, k (the lse of states) are normal random
// numbers, so that the roundings of different rows have nothing in common. P rounded toward zero, or a sum that loses its
// last bits, shifts every row to one side, by less than any bound of one element sees.
//
// Limit of the mean of x = (ô − v_c)/v_c over N independent rows (elements of one row are not independent: a row counts by
// its largest figures, in units of v_c). Before the last rounding row r errs by at most d_r of either sign plus a centred
// part with proxy σ_r, so by Hoeffding the mean is within mean d + λ sqrt(Σ σ_r²)/N but for a chance of 2e^{−λ²/2}. Two
// splits hold, the narrower counts:
//   d = drift, σ = (probable − drift)/λ of bound/README.md, 6;
//   a stored P: its roundings alone are centred, |ξ_j| <= u_P p_j, so σ = u_P sqrt(Σ p_j²)/low, low >= 1 − (weights +
//   denominator)/size the least that a computed denominator is of the exact one; d = total − u_P·size is all else.
// The last rounding: v_c lies on the grid of the output, even around it, so RN(v_c + δ) − v_c is an odd monotone function
// of δ, 0 for |δ| below half a step h and else at most |δ| + h <= 2|δ|: it stays centred and at most doubles. Hence twice
// the above.
//
// This assumes that roundings are independent and centred. They are neither random nor known to be independent, so a
// failure is no proof of a defect as one of an a-priori bound is: it is a mean that chance, under the assumption, makes once in e^{λ²/2}/2
// cases. It fails all the same: q and k are drawn here, not the case's, so that no case is built against the assumption.
// A limit as wide as the mean of the bounds themselves says nothing: vacuous. A stored P gets rows enough.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/laws/law.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/weights.h"

namespace flashproof::law::signed_bias_within_limit {
namespace {

constexpr std::string_view kName = "signed_bias_within_limit";
constexpr std::string_view kTeeth[] = {"attention.broken.weights_truncated",
                                       "attention.broken.accumulator_not_rescaled"};
constexpr std::int64_t kRows = 128;

/// Just below 2, where a step of the format is least beside the number, exact in v and in o; a few steps below, so that
/// the grid is even around it. 8 bits: 1.75, 1.5, 1.25, on the finer grid of o.
struct Columns {
  double top, step;
  double operator[](std::int64_t column) const { return top - step * static_cast<double>(column % 3); }
};

Columns columns_for(Format v, Format o) {
  if (info(v).bits == 8) return {1.75, 0.25};
  const int precision = std::min({info(v).precision, info(o).precision, info(Format::f16).precision});
  const double step = std::ldexp(1.0, 1 - precision);
  return {2 - 4 * step, step};
}

Tensor constant_columns(const Tensor& tensor, const Columns& value) {
  const std::int64_t width = tensor.shape.back();
  std::int64_t n = 0;
  return mapped(tensor, [&](double) { return value[n++ % width]; });
}

/// Scores of standard deviation about 1 in d components; of 8 bits, too.
Columns plant(AttentionProblem& p, Random& random) {
  p.q = mapped(p.q, [&](double) { return random.normal(); });
  p.k = mapped(p.k, [&](double) { return random.normal(); });
  const Columns value = columns_for(p.v.format, p.output_format());
  p.v = constant_columns(p.v, value);
  p.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(p.head_dim())));
  p.softcap = 0;
  p.causal = false;
  p.window_left = p.window_right = -1;
  p.bias = p.alibi = p.sink = p.q_descale = p.k_descale = p.v_descale = {};
  return value;
}

Columns plant(MergeProblem& p, Random& random) {
  p.lse = mapped(p.lse, [&](double) { return random.normal(); });
  const Columns value = columns_for(p.o.format, p.o.format);
  p.o = constant_columns(p.o, value);
  return value;
}

std::string refused(const AttentionProblem&) { return {}; }
std::string refused(const MergeProblem& p) {
  if (p.has_l()) return "states with a sum of their own";
  return p.form == MergeForm::concat ? "blocks of a concatenation are no means" : "";
}
std::string refused(const SoftmaxProblem&) { return "softmax has no values"; }
Columns plant(SoftmaxProblem&, Random&) { return {}; }

/// Queries again and again, so that there are kRows of them, before they are drawn.
void lengthen(AttentionProblem& p) {
  const std::int64_t rows = p.sequences() * p.q_heads() * p.q_length();
  if (p.packed() || rows == 0 || rows >= kRows) return;
  const std::int64_t times = (kRows + rows - 1) / rows;
  std::vector<std::int64_t> from = iota(times * p.q_length());
  for (std::int64_t& i : from) i %= p.q_length();
  p.q = gather(p.q, 2, from);
}

/// Of one split, summed over the rows.
struct Split {
  double either = 0, square = 0;
  void add(double d, double sigma) {
    either += d;
    square += sigma * sigma;
  }
  double limit(double n) const { return 2 * (either + kLambda * std::sqrt(square)) / n; }
};

struct Sums {
  double error = 0, bound = 0;
  Split probable, stored;
  std::int64_t rows = 0;
};

/// Σ p_j² of a row, its weights summing to 1.
double sum_of_squares(const RowWeights& row) {
  double most = -std::numeric_limits<double>::infinity(), sum = 0, squares = 0;
  for (const Measured& score : row.score) most = std::max(most, score.value);
  for (const Measured& score : row.score) {
    const double weight = std::exp(score.value - most);
    sum += weight;
    squares += weight * weight;
  }
  return squares / (sum * sum);
}

/// One row: its mean error and its largest figures; nothing if it is not judged.
void add_row(const Reading& reading, const Bound& bound, const Columns& value, const RowWeights& row, double unit,
             Sums& sums) {
  double error = 0, drift = 0, centred = 0, total = 0, rest = 0, low = 1, radius = 0;
  for (std::int64_t c = 0; c < reading.width(); ++c) {
    if (reading.standing(Part::o, row.row, c) != Standing::number) return;
    const double v = value[c];
    const ElementBound& e = bound.o[static_cast<std::size_t>(row.row * reading.width() + c)];
    error += (reading.value(Part::o, row.row, c) - v) / v;
    drift = std::max(drift, e.drift / v);
    centred = std::max(centred, (probable_bound(e) - e.drift) / kLambda / v);
    total = std::max(total, e.total() / v);
    rest = std::max(rest, std::max(e.total() - unit * v, 0.0) / v);
    low = std::min(low, std::max(1 - (e.weights + e.denominator) / v, 0.0));
    radius = std::max(radius, reading.o(row.row, c).radius / v);
  }
  sums.error += error / static_cast<double>(reading.width());
  sums.bound += radius;
  sums.probable.add(drift, centred);
  // Without a stored P all that may happen is on either side.
  unit > 0 ? sums.stored.add(rest, unit * std::sqrt(sum_of_squares(row)) / low) : sums.stored.add(total, 0);
  ++sums.rows;
}

Verdict relate(Trial& trial) {
  Problem changed = trial.problem();
  Random random = trial.random(kName);
  if (std::string why = visit_forward([](const auto& p) { return refused(p); }, changed); !why.empty()) {
    return unsupported(std::move(why));
  }
  const Format weights = trial.kernel().arithmetic.weights.format;
  const double unit = weights == Format::f32 ? 0 : unit_roundoff(weights);
  if (auto* p = std::get_if<AttentionProblem>(&changed); p != nullptr && unit > 0) lengthen(*p);
  const Columns value = visit_forward([&](auto& p) { return plant(p, random); }, changed);
  if (std::string why = trial.refusal(changed); !why.empty()) return unsupported(std::move(why));
  const Output output = trial.run(changed);
  const Bound bound = trial.bound_of(changed);
  const Reading reading(output, bound, trial.contract());
  Sums sums;
  for_each_row(changed, unit > 0 ? Scores::compute : Scores::leave, [&](const RowWeights& row) {
    if (!row.empty() && reading.width() > 0) add_row(reading, bound, value, row, unit, sums);
  });
  if (sums.rows == 0) return vacuous("no row sees anything");
  const double n = static_cast<double>(sums.rows);
  const double mean = sums.error / n, limit = std::min(sums.probable.limit(n), sums.stored.limit(n));
  if (std::fabs(mean) > limit) {
    const double u = unit_roundoff(output.o.format);
    return {
        VerdictKind::fail, Failure::exceeds_bound,
        fmt::format("the mean relative error of {} rows is {:.3g} u, independent centred roundings allow {:.3g} u, u "
                    "= {:.3g}",
                    sums.rows, mean / u, limit / u, u)};
  }
  if (limit >= sums.bound / n) return vacuous("too few rows to tell a bias from chance");
  return {};
}

}  // namespace

Law signed_bias_within_limit() {
  return {
      "over random q and k the signed mean error of many rows is what roundings allow if they are independent "
      "and centred",
      kTeeth, relate};
}

}  // namespace flashproof::law::signed_bias_within_limit
