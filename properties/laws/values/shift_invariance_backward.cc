// The same number c added to every score, by the bias, and to lse: every P = e^(s − lse) stays, and so do dq, dk and dv, within both
// bounds. As a stage lse is an input like the others, so bias and lse are first rounded to multiples of steps that make c exact in
// every entry, and the base is run on these. Sees an exponent or an lse in another base, and a frame that is fixed.
#include <fmt/format.h>

#include <cmath>

#include "properties/laws/of_gradients.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare_backward.h"
#include "properties/laws/support/same_outputs.h"

namespace flashproof {
namespace {

constexpr double kShifts[] = {96, -96, 2048, -131072};

/// Rounds the entries, so that c can be added; false if it would be rounded.
bool make_room(Tensor& entries, double c) {
  const FormatInfo& format = info(entries.format);
  const double furthest = largest(entries) + std::fabs(c);
  const double step = step_of(furthest, format.precision);
  if (furthest >= format.max_finite || std::fmod(c, step) != 0) return false;
  entries = rounded_to(entries, step);
  return true;
}

}  // namespace

Verdict shift_of_gradients(Trial& trial) {
  if (no_rows(gradient_of(trial))) return vacuous("no row");
  Random random = trial.random("shift_invariance");
  const double c = kShifts[random.integer(0, std::ssize(kShifts) - 1)];
  BackwardProblem base = with_any_forward(trial);
  base.forward.bias = dense_bias(base.forward);
  Comparison tally;
  if (!make_room(base.forward.bias, c) || !make_room(base.lse, c)) return tally.verdict("no shift is exact");
  BackwardProblem changed = base;
  changed.forward.bias = shifted(base.forward.bias, c);
  changed.lse = shifted(base.lse, c);
  for (const BackwardProblem* problem : {&base, &changed}) {
    if (std::string why = trial.refusal(*problem); !why.empty()) return unsupported(std::move(why));
  }
  const Output before = trial.run(base), after = trial.run(changed);
  const Bound before_bound = trial.bound_of(base), after_bound = trial.bound_of(changed);
  const GradientReading expected(before, before_bound), computed(after, after_bound);
  const OrdinaryGradients ordinary = ordinary_gradients(base);
  const std::string relation = fmt::format("scores and lse shifted by {} against as given", c);
  for (const Part part : kGradientParts) {
    same_rows(tally, part, computed, expected, iota(computed.rows(part)),
              part == Part::dq ? ordinary.query : ordinary.key, relation);
  }
  return tally.verdict("no row of ordinary numbers");
}

}  // namespace flashproof
