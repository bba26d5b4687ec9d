// Keys that no query sees, put among the others: o and lse stay as they are stored, dq and the dk and dv of the others are what they
// were, within both bounds, and their own dk and dv are 0 exactly. They hold NaN where the kernel isolates hidden keys. And where
// no query sees any key all gradients are 0.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "properties/laws/of_gradients.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare_backward.h"
#include "properties/laws/support/parts.h"
#include "properties/laws/support/same_outputs.h"

namespace flashproof {
namespace {

/// The rows for which `is_empty` is true are 0. A kernel that does not isolate hidden keys may make NaN of what a case holds.
template <class IsEmpty>
void require_zeros(Trial& trial, const Output& gradients, Part part, const IsEmpty& is_empty, Comparison& tally) {
  if (!trial.contract().isolates_hidden) return;
  const Tensor& tensor = gradients[part];
  for (std::int64_t n = 0; n < tensor.elements(); ++n) {
    const std::int64_t row = n / tensor.shape[3];
    if (!is_empty(row)) continue;
    const double x = decode(tensor.format, tensor.bits(n));
    if (x == 0) {
      tally.held();
    } else {
      tally.fail(Failure::leak,
                 fmt::format("{}: {:.9g}, of what sees nothing", place_of(part, row, n % tensor.shape[3]), x));
    }
  }
}

void with_hidden_keys(Trial& trial, BackwardProblem p, Comparison& tally) {
  if (!tally.taken(without_positions(p.forward, true))) return;
  const std::int64_t keys = p.forward.k_length(), more = std::min<std::int64_t>(keys, 32);
  const double hidden = trial.contract().isolates_hidden ? std::numeric_limits<double>::quiet_NaN() : 1;
  p.forward.plan = ChunkPlan::uniform(keys, 64);
  Random random = trial.random("empty_state_is_identity");
  const auto at = static_cast<int>(random.integer(0, p.forward.plan.chunks()));
  const std::int64_t first = insert_keys(p.forward, at, more, hidden, hidden);
  if (!tally.taken(trial.refusal(p))) return;
  const Output after = trial.run(p);
  const Bound bound = trial.bound_of(p);
  const GradientReading computed(after, bound), expected(trial.output(), trial.bound());
  const OrdinaryGradients ordinary = ordinary_gradients(gradient_of(trial));
  const auto inserted = [&](std::int64_t row) {
    const std::int64_t j = row % (keys + more);
    return j >= first && j < first + more;
  };
  std::vector<std::int64_t> from;
  for (std::int64_t row = 0; row < computed.rows(Part::dk); ++row) {
    const std::int64_t j = row % (keys + more), before = j < first ? j : j - more;
    from.push_back(inserted(row) ? -1 : row / (keys + more) * keys + before);
  }
  constexpr std::string_view kRelation = "with hidden keys more against without";
  same_rows(tally, Part::dq, computed, expected, iota(computed.rows(Part::dq)), ordinary.query, kRelation);
  for (const Part part : {Part::dk, Part::dv}) {
    same_rows(tally, part, computed, expected, from, ordinary.key, kRelation);
    require_zeros(trial, after, part, inserted, tally);
  }
}

}  // namespace

Verdict empty_state_of_gradients(Trial& trial) {
  const BackwardProblem given = with_any_forward(trial);
  if (given.query_rows() == 0 || given.key_rows() == 0) return vacuous("no pair");
  Comparison tally;
  with_hidden_keys(trial, given, tally);
  BackwardProblem nothing = given;
  nothing.forward.key_length.assign(static_cast<std::size_t>(given.forward.batch()), 0);
  if (tally.taken(trial.refusal(nothing))) {
    const Output gradients = trial.run(nothing);
    for (const Part part : kGradientParts) {
      require_zeros(trial, gradients, part, [](std::int64_t) { return true; }, tally);
    }
  }
  return tally.verdict("no row of ordinary numbers");
}

}  // namespace flashproof
