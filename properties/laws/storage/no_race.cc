// Under the race shadow no two accesses to shared memory, inputs, outputs or workspace, one of them a write, are left
// without an order. One schedule is enough: what is ordered is decided by barriers and fences, not by what ran first.
//
// The shadow is slow. Above a size the law asks nothing: what a block does does not depend on how many blocks there are,
// and the families draw small cases as often as large ones.
#include "properties/laws/law.h"
#include "properties/laws/support/change.h"
#include "properties/laws/support/race_observer.h"
#include "properties/laws/support/same_outputs.h"
#include "reference/system/error.h"

namespace flashproof::law::no_race {
namespace {

constexpr std::string_view kTeeth[] = {"softmax.broken.partials_cleared_late",
                                       "attention.broken.tile_overwritten_early", "attention.broken.copy_not_awaited",
                                       "attention_backward.broken.row_statistics_behind_barrier",
                                       "attention_backward.broken.query_sum_not_atomic"};
RaceObserver race_observer = nullptr;

constexpr std::int64_t kMost = 40000;  // products of the case; some 0.1 s of a core

/// The pairs of a gradient are computed twice where dq has a loop of its own, and five products are formed of each.
std::int64_t work(const Problem& problem) {
  return (kind_of(problem) == ProblemKind::backward ? 4 : 1) * products(problem);
}

Verdict relate(Trial& trial) {
  if (trial.options().executor != Executor::cpu) return unsupported("the race shadow sees the CPU executor alone");
  if (race_observer == nullptr) return unsupported("this program has no kernels built for the race shadow");
  if (work(trial.problem()) > kMost) {
    return vacuous("more than " + std::to_string(kMost) + " products: too slow to watch");
  }
  const RunOptions& options = trial.options();
  Observation seen;
  try {
    seen = race_observer(trial.kernel(), trial.problem(),
                         {.schedule = options.schedule, .matrix_unit = options.matrix_unit, .dose = options.dose});
  } catch (const UsageError& error) {  // not built for the shadow, or too many blocks for it
    return unsupported(error.what());
  }
  if (seen.race_count > 0) {
    return {VerdictKind::fail, Failure::nondeterministic,
            std::to_string(seen.race_count) + " races, first " + seen.races.front().text};
  }
  if (seen.accesses == 0) return vacuous("the kernel touched no memory");
  return {};
}

}  // namespace

Law no_race() { return {"no two accesses are left without an order", kTeeth, relate, relate}; }

}  // namespace flashproof::law::no_race

namespace flashproof {

void set_race_observer(RaceObserver observer) { law::no_race::race_observer = observer; }

}  // namespace flashproof
