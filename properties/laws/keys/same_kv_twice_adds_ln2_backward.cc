// Every key twice, and c added to lse, as near to ln 2 as its rounded entries can take exactly. As a stage every weight is then
// e^−c times what it was, D stays, and so
//   dq = 2 e^−c times the dq of once each,   dk_j and dv_j of either copy = e^−c times those of key j,
// each within its bound: dq as it was, and dk and dv of the two copies half of them each, but for what c is off ln 2 by. A kernel
// that makes its own lse adds ln 2 itself: dq stays, dk and dv are halved, within the bounds of both passes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "properties/laws/of_gradients.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare_backward.h"
#include "properties/laws/support/parts.h"
#include "properties/laws/support/same_outputs.h"

namespace flashproof {
namespace {

using Index = std::vector<std::int64_t>;

/// Of n keys in each of some heads: the key that each of 2n is a copy of.
Index copies_of(std::int64_t heads, std::int64_t n) {
  Index rows;
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t j = 0; j < 2 * n; ++j) rows.push_back(head * n + j % n);
  }
  return rows;
}

BackwardProblem twice(const BackwardProblem& once, double c) {
  BackwardProblem p = once;
  const Index keys = copies_of(1, once.forward.k_length());
  p.forward.k = gather(p.forward.k, 2, keys);
  p.forward.v = gather(p.forward.v, 2, keys);
  if (p.forward.has_bias()) p.forward.bias = gather(p.forward.bias, 3, keys);
  p.forward.plan = ChunkPlan::uniform(p.forward.k_length(), 64);  // orders nothing here
  p.lse = shifted(once.lse, c);
  return p;
}

/// Row r of the one is row from[r] of the other times the factor.
void compare(Comparison& tally, Part part, const GradientReading& computed, const GradientReading& expected,
             const Index& from, const std::vector<std::uint8_t>& rows, const Measured& factor) {
  for (std::int64_t row = 0; row < computed.rows(part); ++row) {
    const std::int64_t of = from[static_cast<std::size_t>(row)];
    if (rows[static_cast<std::size_t>(of)] == 0) continue;
    for (std::int64_t c = 0; c < computed.width(part); ++c) {
      const bool numbers =
          computed.standing(part, row, c) == Standing::number && expected.standing(part, of, c) == Standing::number;
      if (!numbers) continue;
      tally.agree(computed.at(part, row, c), expected.at(part, of, c) * factor,
                  std::min(computed.sharp(part), expected.sharp(part) * factor.value),
                  [&] { return fmt::format("{}, every key twice against once", place_of(part, row, c)); });
    }
  }
}

}  // namespace

Verdict same_kv_twice_of_gradients(Trial& trial) {
  BackwardProblem once = with_any_forward(trial);
  if (once.query_rows() == 0 || once.key_rows() == 0) return vacuous("no pair");
  if (std::string why = without_positions(once.forward, true); !why.empty()) return unsupported(std::move(why));
  const double step = step_of(largest(once.lse) + 1, info(Format::f32).precision);
  once.lse = rounded_to(once.lse, step);
  const double c = std::nearbyint(std::log(2.0) / step) * step;
  BackwardProblem doubled = twice(once, c);
  for (const BackwardProblem* problem : {&once, &doubled}) {
    if (std::string why = trial.refusal(*problem); !why.empty()) return unsupported(std::move(why));
  }
  const Output before = trial.run(once), after = trial.run(doubled);
  const Bound before_bound = trial.bound_of(once), after_bound = trial.bound_of(doubled);
  const GradientReading expected(before, before_bound), computed(after, after_bound);
  const OrdinaryGradients ordinary = ordinary_gradients(once);
  const Measured weight = once.mode == BackwardMode::stage ? exp(exactly(-c)) : exactly(0.5);
  const AttentionProblem& f = once.forward;
  Comparison tally;
  compare(tally, Part::dq, computed, expected, iota(computed.rows(Part::dq)), ordinary.query, weight + weight);
  for (const Part part : {Part::dk, Part::dv}) {
    compare(tally, part, computed, expected, copies_of(f.batch() * f.k_heads(), f.k_length()), ordinary.key, weight);
  }
  return tally.verdict("no row of ordinary numbers");
}

}  // namespace flashproof
