// replay WITNESS|CASE: one case again, on the kernel that the witness names or on every kernel of its problem.
#include <cstdio>

#include "reference/oracle/memory.h"
#include "reference/oracle/oracle.h"
#include "reference/problem/error.h"
#include "reference/problem/text.h"
#include "reports/commands/commands.h"
#include "reports/exit_codes.h"
#include "reports/gradients/sweep.h"
#include "reports/native.h"
#include "reports/sweep.h"
#include "reports/workers.h"

namespace flashproof {

namespace {

/// What the options say, else the witness's notes: schedule, kernels (a seeded fault fails by design; it runs when it is
/// named), where and with which math.
template <class P, class Select>
Place settle(P& plan, const ReplayArguments& arguments, Notes& notes, Select select) {
  const bool own_schedule = arguments.schedule.empty() && notes.contains("schedule");
  const std::string schedule = own_schedule ? notes["schedule"] : arguments.schedule;
  plan.schedule = simt::parse_schedule(schedule.empty() ? "fifo" : schedule);
  if (plan.schedule.preempt > 0) {
    throw UsageError("--schedule " + quote(schedule) +
                     ": only kernels built for the race shadow give way at accesses, legal here: random:SEED");
  }
  std::vector<std::string> globs = arguments.kernels;
  if (globs.empty() && notes.contains("kernel")) globs = {notes["kernel"]};
  plan.kernels = select(globs);
  const Place place = place_of(arguments.executor, arguments.math, arguments.profile, notes);
  plan.executors = executors_for(place.executor);
  return place;
}

SweepOptions replay_options() {
  SweepOptions options;
  options.max_elements = 4;
  options.keep_results = true;
  return options;
}

/// Prints every result; the exit code.
template <class Result, class Line>
int show(const Result& result, Line line) {
  bool finding = false;
  for (const auto& r : result.results) {
    std::printf("%s\n", line(r).c_str());
    if (r.result.verdict.kind < VerdictKind::inconclusive) continue;
    for (const std::string& text : element_lines(r.result.elements, r.result.failing_elements)) {
      std::printf("%s\n", text.c_str());
    }
    if (r.result.failed()) finding = true;
  }
  if (!result.partial && result.executed() == 0) {
    say("no selected kernel takes this case, so nothing was tested");
    return kExitFinding;
  }
  return closing_code(result.partial, result.failure, finding);
}

int replay_gradient(const ReplayArguments& arguments) {
  Notes notes;
  const PlannedGradient planned = load_gradient(arguments.target, &notes);
  GradientPlan plan;
  const Place place = settle(plan, arguments, notes, select_backward_kernels);
  plan.cases = {planned};
  if (plan.executors.empty()) return kExitSkipped;
  Plan none;
  choose_math(none, plan, place.math, arguments.profile);
  stop_on_signals();
  return show(sweep(plan, replay_options()), [&](const GradientStepResult& r) {
    return verdict_line(r.step.kernel->id, flashproof::place(r.step.kernel->math, r.step.executor),
                        backward_line(planned.spec), r.result.verdict, r.result.elements);
  });
}

}  // namespace

int replay_command(const ReplayArguments& arguments) {
  if (names_gradient(arguments.target)) return replay_gradient(arguments);
  Notes notes;
  const PlannedCase planned = load_case(arguments.target, &notes);
  // Before any work, and as what it is: the file's fault, not the machine's.
  require_memory(memory_of(planned.data->problem, 1), OracleOptions{}.memory_limit);
  Plan plan;
  const Place place = settle(plan, arguments, notes, select_kernels);
  plan.cases = {planned};
  if (plan.executors.empty()) return kExitSkipped;
  choose_math(plan, place.math, arguments.profile);
  stop_on_signals();
  return show(sweep(plan, replay_options()), [&](const StepResult& r) {
    return verdict_line(*r.step.kernel, r.step.executor, planned.spec, r.result);
  });
}

}  // namespace flashproof
