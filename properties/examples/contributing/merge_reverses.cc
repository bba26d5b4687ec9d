// The states of a merge may be visited backwards: the exact answer stays the same, so the two outputs agree within both bounds.
#include <algorithm>

#include "properties/laws/law.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare.h"

namespace flashproof::law::merge_reverses {
namespace {

constexpr std::string_view kTeeth[] = {"merge.broken.misprinted_lse"};

Verdict relate(Trial& trial) {
  const auto* given = std::get_if<MergeProblem>(&trial.problem());
  if (given == nullptr) return unsupported("a law of merges");
  if (given->order.size() < 2 || !given->joins.empty()) return vacuous("no order to reverse");
  MergeProblem changed = *given;
  std::ranges::reverse(changed.order);
  const Output output = trial.run(changed);
  const Bound bound = trial.bound_of(changed);
  Comparison tally;
  tally.same({output, bound, trial.contract()}, {trial.output(), trial.bound(), trial.contract()},
             "backwards against as given", ordinary_rows(*given));
  return tally.verdict("no row of ordinary numbers");
}

}  // namespace

Law merge_reverses() { return {"states may be merged backwards, within both bounds", kTeeth, relate}; }

}  // namespace flashproof::law::merge_reverses
