// States merged in any order give the same o and lse, within both bounds: the order reversed, by rising lse of the
// first row (so that the maximum rises with every state), and at random.
#include <algorithm>
#include <limits>

#include "properties/laws/law.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/compare.h"

namespace flashproof::law::merge_any_order_within_bound {
namespace {

constexpr std::string_view kName = "merge_any_order_within_bound";
constexpr std::string_view kTeeth[] = {"merge.broken.misprinted_lse", "merge.broken.one_sided_log",
                                       "merge.broken.two_empty_states", "merge.broken.lse_in_16_bits",
                                       "merge.broken.merged_in_base_2"};

Verdict relate(Trial& trial) {
  const auto* given = std::get_if<MergeProblem>(&trial.problem());
  if (given == nullptr) return unsupported("a law of merges");
  if (given->order.size() < 2) return vacuous("one state");
  Random random = trial.random(kName);
  const auto rows = ordinary_rows(*given);
  Comparison tally;
  const auto try_order = [&](std::vector<std::int32_t> order, std::string_view relation) {
    MergeProblem changed = *given;
    changed.order = std::move(order);
    if (!tally.taken(trial.refusal(changed))) return;
    const Output output = trial.run(changed);
    const Bound bound = trial.bound_of(changed);
    tally.same({output, bound, trial.contract()}, {trial.output(), trial.bound(), trial.contract()}, relation, rows);
  };
  std::vector<std::int32_t> order(given->order.rbegin(), given->order.rend());
  try_order(order, "states in reversed order against as given");
  if (given->lse.shape[1] > 0) {
    // A NaN has no place in an order: first.
    const auto key = [&](std::int32_t n) {
      const double lse = given->lse.at({n, 0});
      return lse == lse ? lse : -std::numeric_limits<double>::infinity();
    };
    std::ranges::stable_sort(order, {}, key);
    try_order(order, "states by rising lse against as given");
  }
  for (int i = 0; i < 2; ++i) {
    for (std::size_t n = order.size() - 1; n > 0; --n) {
      std::swap(order[n], order[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(n)))]);
    }
    try_order(order, "states in a random order against as given");
  }
  return tally.verdict("no row of ordinary numbers");
}

}  // namespace

Law merge_any_order_within_bound() { return {"states may be merged in any order, within both bounds", kTeeth, relate}; }

}  // namespace flashproof::law::merge_any_order_within_bound
