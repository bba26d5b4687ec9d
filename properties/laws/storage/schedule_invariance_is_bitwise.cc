// A kernel that declares itself deterministic returns the same bits whatever order the CPU executor runs its threads and
// blocks in, and whenever its asynchronous copies land. Sees a missing barrier or wait only where an order makes it show;
// no_race sees it in every order.
#include "kernels/simt/cpu/schedule.h"
#include "properties/laws/law.h"
#include "properties/laws/support/same_outputs.h"

namespace flashproof::law::schedule_invariance_is_bitwise {
namespace {

constexpr std::string_view kName = "schedule_invariance_is_bitwise";
constexpr std::string_view kTeeth[] = {"softmax.broken.partials_cleared_late", "attention.broken.copy_not_awaited",
                                       "attention_backward.broken.row_statistics_behind_barrier"};

Verdict relate(Trial& trial) {
  if (std::string why = not_comparable(trial); !why.empty()) return unsupported(std::move(why));
  if (!on_cpu(trial)) return unsupported("a schedule is an input of the CPU executor alone");
  Random random = trial.random(kName);
  std::vector<simt::Schedule> schedules = {{.policy = simt::Policy::lifo, .bytes = {}}};
  for (const bool lazy : {false, true}) {
    schedules.push_back({.policy = simt::Policy::random, .seed = random.next_u32(), .bytes = {}, .lazy_copies = lazy});
  }
  schedules.push_back({.bytes = {}, .lazy_copies = true});
  Comparison tally;
  for (const simt::Schedule& schedule : schedules) {
    RunOptions options = trial.options();
    options.schedule = schedule;
    const bool same =
        tally.add(same_outputs(trial, trial.run(trial.problem(), options), trial.output()), Failure::nondeterministic,
                  ", schedule " + to_string(schedule) + " against " + to_string(trial.options().schedule));
    if (!same) break;
  }
  return tally.verdict("");
}

}  // namespace

Law schedule_invariance_is_bitwise() {
  return {"the same bits in whatever order threads and blocks run and copies land", kTeeth, relate, relate};
}

}  // namespace flashproof::law::schedule_invariance_is_bitwise
