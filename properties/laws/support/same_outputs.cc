#include "properties/laws/support/same_outputs.h"

#include "properties/laws/support/change.h"
#include "properties/laws/support/compare.h"
#include "properties/laws/support/compare_backward.h"

namespace flashproof {

std::string not_comparable(const Trial& trial) {
  const bool asked = trial.contract().deterministic || trial.kernel().problem == ProblemKind::backward;
  return asked ? "" : "the kernel does not declare itself deterministic";
}

std::string difference(Trial& trial, const Output& a, const Output& b) {
  if (trial.kernel().problem != ProblemKind::backward) return first_difference(a, b);
  std::string bits = first_gradient_difference(a, b);
  if (bits.empty() || trial.contract().deterministic) return bits;
  const GradientReading computed(a, trial.bound()), expected(b, trial.bound());
  const OrdinaryGradients ordinary = ordinary_gradients(gradient_of(trial));
  Comparison tally;
  for (const Part part : kGradientParts) {
    same_rows(tally, part, computed, expected, iota(computed.rows(part)),
              part == Part::dq ? ordinary.query : ordinary.key, "within twice the bound");
  }
  const Verdict verdict = tally.verdict("");
  return verdict.failed() ? verdict.detail : "";
}

}  // namespace flashproof
