// o is a weighted mean: every element lies between the least and the largest value that its column of the row sees, within
// its own bound. With a sink 0 is among the values; v_descale multiplies them. A block of a concatenation is its state's o
// times a weight in [0, 1], an element of softmax is such a weight; a row that sees nothing is 0.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "properties/laws/law.h"
#include "properties/laws/support/parts.h"
#include "properties/laws/support/planted_values.h"

namespace flashproof::law::convex_hull {
namespace {

constexpr std::string_view kTeeth[] = {
    "attention.broken.accumulator_not_rescaled", "attention.broken.finite_infinity",
    "attention.broken.last_split_dropped",       "attention.broken.causal_top_left",
    "attention.broken.hidden_value_times_zero",  "attention.broken.batch_stride_of_k"};

struct Hull {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  void add(double x) {
    low = std::min(low, x);
    high = std::max(high, x);
  }
};

std::vector<Hull> hulls_of(const AttentionProblem& p, const RowWeights& row, std::int64_t width) {
  std::vector<Hull> hulls(static_cast<std::size_t>(width));
  for (const std::int64_t j : row.key) {
    const std::int64_t v = p.v_offset(row.sequence, row.kv_head, j);
    for (std::int64_t c = 0; c < width; ++c) {
      hulls[static_cast<std::size_t>(c)].add(decode(p.v.format, p.v.bits(v + c * p.v.stride[3])));
    }
  }
  for (Hull& hull : hulls) {
    if (row.empty() || std::isfinite(row.sink)) hull.add(0);
    const double factor = AttentionProblem::descale(p.v_descale, row.sequence, row.kv_head);
    const double a = hull.low * factor, b = hull.high * factor;
    hull = {std::min(a, b), std::max(a, b)};
  }
  return hulls;
}

std::vector<Hull> hulls_of(const MergeProblem& p, const RowWeights& row, std::int64_t width) {
  std::vector<Hull> hulls(static_cast<std::size_t>(width));
  const std::int64_t dv = p.o.shape[2];
  const bool concat = p.form == MergeForm::concat;
  for (const std::int64_t n : row.key) {
    const double l = p.has_l() ? p.l.at({n, row.row}) : 1;
    for (std::int64_t c = 0; c < dv; ++c) {
      hulls[static_cast<std::size_t>(concat ? n * dv + c : c)].add(p.o.at({n, row.row, c}) / l);
    }
  }
  for (Hull& hull : hulls) {
    if (concat || row.empty()) hull.add(0);
  }
  return hulls;
}

/// A column that is hidden, or beyond the length, has no weight.
std::vector<Hull> hulls_of(const SoftmaxProblem&, const RowWeights& row, std::int64_t width) {
  std::vector<Hull> hulls(static_cast<std::size_t>(width), {0, 0});
  for (const std::int64_t c : row.key) hulls[static_cast<std::size_t>(c)].high = 1;
  return hulls;
}

Verdict relate(Trial& trial) {
  const Reading reading(trial.output(), trial.bound(), trial.contract());
  Comparison tally;
  for_each_row(trial.problem(), Scores::leave, [&](const RowWeights& row) {
    const auto hulls = visit_forward([&](const auto& p) { return hulls_of(p, row, reading.width()); }, trial.problem());
    for (std::int64_t c = 0; c < reading.width(); ++c) {
      const Hull& hull = hulls[static_cast<std::size_t>(c)];
      if (hull.low > hull.high) continue;  // no visible value is a number: class_matches_semantics asks
      // An infinity or NaN stands nearest to the end of its sign, or to either: compare() has the overflow's rule.
      const double value = reading.value(Part::o, row.row, c);
      const double nearest = std::isnan(value) ? hull.low : std::clamp(value, hull.low, hull.high);
      // A quotient O/l and a product with v_descale were rounded once: 2^-50 of the value covers it.
      const Expected expected = expect(Measured{nearest, std::fabs(nearest) * 0x1p-50});
      compare(tally, reading, Part::o, row.row, c, expected,
              [&] { return fmt::format("outside [{:.9g}, {:.9g}]", hull.low, hull.high); });
    }
  });
  return tally.verdict("no row of ordinary numbers");
}

}  // namespace

Law convex_hull() {
  return {"every o lies between the least and the largest value that its row sees, within the bound", kTeeth, relate};
}

}  // namespace flashproof::law::convex_hull
