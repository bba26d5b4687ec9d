// Under the race shadow no two accesses to shared memory, inputs, outputs or workspace, one of them a write, are left
// without an order. One schedule is enough: what is ordered is decided by barriers and fences, not by what ran first.
//
// The shadow is slow. Above a size the law asks nothing: what a block does does not depend on how many blocks there are,
// and the families draw small cases as often as large ones.
#include "properties/laws/change.h"
#include "properties/laws/gradient_list.h"
#include "properties/laws/list.h"
#include "properties/laws/race_observer.h"
#include "properties/laws/same_outputs.h"
#include "reference/problem/error.h"

namespace flashproof {
namespace {

constexpr std::string_view kTeeth[] = {"softmax.broken.partials_cleared_late",
                                       "attention.broken.tile_overwritten_early", "attention.broken.copy_not_awaited"};
constexpr std::string_view kSummary = "no two accesses are left without an order";
constexpr std::string_view kGradientTeeth[] = {"attention_backward.broken.row_statistics_behind_barrier",
                                               "attention_backward.broken.query_sum_not_atomic"};
RaceObserver race_observer = nullptr;
GradientRaceObserver gradient_race_observer = nullptr;

constexpr std::int64_t kMost = 40000;  // products of the case; some 0.1 s of a core

RaceObserver observer_for(const Trial&) { return race_observer; }
GradientRaceObserver observer_for(const GradientTrial&) { return gradient_race_observer; }

/// The pairs of a gradient are computed twice where dq has a loop of its own, and five products are formed of each.
std::int64_t products(const BackwardProblem& p) { return 4 * flashproof::products(p.forward); }

template <class AnyTrial>
Verdict relate(AnyTrial& trial) {
  if (trial.options().executor != Executor::cpu) return unsupported("the race shadow sees the CPU executor alone");
  const auto observer = observer_for(trial);
  if (observer == nullptr) return unsupported("this program has no kernels built for the race shadow");
  if (products(trial.problem()) > kMost) {
    return {VerdictKind::vacuous, Failure::none, "more than " + std::to_string(kMost) + " products: too slow to watch"};
  }
  const RunOptions& options = trial.options();
  ShadowReport seen;
  try {
    seen = observer(trial.kernel(), trial.problem(),
                    {.schedule = options.schedule, .matrix_unit = options.matrix_unit, .dose = options.dose});
  } catch (const UsageError& error) {  // not built for the shadow, or too many blocks for it
    return {VerdictKind::unsupported, Failure::none, error.what()};
  }
  if (seen.race_count > 0) {
    return {VerdictKind::fail, Failure::nondeterministic,
            std::to_string(seen.race_count) + " races, first " + seen.races.front().text};
  }
  if (seen.accesses == 0) return {VerdictKind::vacuous, Failure::none, "the kernel touched no memory"};
  return {};
}

}  // namespace

void set_race_observer(RaceObserver forward, GradientRaceObserver backward) {
  race_observer = forward;
  gradient_race_observer = backward;
}

Law no_race() { return {.name = "no_race", .summary = kSummary, .relate = relate<Trial>, .must_reject = kTeeth}; }

GradientLaw gradient_no_race() {
  return {.name = "gradient_no_race",
          .summary = kSummary,
          .relate = relate<const GradientTrial>,
          .must_reject = kGradientTeeth};
}

}  // namespace flashproof
