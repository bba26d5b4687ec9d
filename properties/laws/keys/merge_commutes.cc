// A merge of two states does not depend on which comes first: the first two states in the order exchanged, and with a
// tree the two sides of every join. The exact answer stays the same, so the two outputs agree within both bounds.
#include <utility>

#include "properties/laws/law.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare.h"

namespace flashproof::law::merge_commutes {
namespace {

constexpr std::string_view kTeeth[] = {"merge.broken.misprinted_lse", "merge.broken.one_sided_log"};

Verdict relate(Trial& trial) {
  const auto* given = std::get_if<MergeProblem>(&trial.problem());
  if (given == nullptr) return unsupported("a law of merges");
  if (given->order.size() < 2) return vacuous("one state");
  MergeProblem changed = *given;
  std::swap(changed.order[0], changed.order[1]);
  for (Join& join : changed.joins) std::swap(join.left, join.right);
  if (std::string why = trial.refusal(changed); !why.empty()) return unsupported(std::move(why));
  const Output output = trial.run(changed);
  const Bound bound = trial.bound_of(changed);
  Comparison tally;
  tally.same({output, bound, trial.contract()}, {trial.output(), trial.bound(), trial.contract()},
             "two states exchanged against as given", ordinary_rows(*given));
  return tally.verdict("no row of ordinary numbers");
}

}  // namespace

Law merge_commutes() { return {"two states of a merge may be exchanged, within both bounds", kTeeth, relate}; }

}  // namespace flashproof::law::merge_commutes
