// replay WITNESS|CASE: one case again, on the kernel that the witness names or on every kernel of its problem.
#include <cstdio>

#include "reference/oracle/memory.h"
#include "reference/oracle/oracle.h"
#include "reports/commands/commands.h"
#include "reports/exit_codes.h"
#include "reports/native.h"
#include "reports/sweep.h"
#include "reports/workers.h"

namespace flashproof {

int replay_command(const ReplayArguments& arguments) {
  Notes notes;
  const PlannedCase planned = load_case(arguments.target, &notes);
  // Before any work, and as what it is: the file's fault, not the machine's.
  require_memory(memory_of(planned.data->problem, 1), OracleOptions{}.memory_limit);
  Plan plan;
  const bool own_schedule = arguments.schedule.empty() && notes.contains("schedule");
  const std::string schedule = own_schedule ? notes["schedule"] : arguments.schedule;
  plan.schedule = simt::parse_schedule(schedule.empty() ? "fifo" : schedule);
  std::vector<std::string> globs = arguments.kernels;
  if (globs.empty() && notes.contains("kernel")) globs = {notes["kernel"]};
  plan.kernels = select_kernels(globs);
  if (globs.empty()) {  // a seeded fault fails by design; it runs when it is named
    std::erase_if(plan.kernels, [](const Kernel* kernel) { return kernel->form == Form::broken; });
  }
  plan.cases = {planned};
  const Place place = place_of(arguments.executor, arguments.math, arguments.profile, notes);
  plan.executors = executors_for(place.executor);
  if (plan.executors.empty()) return kExitSkipped;
  choose_math(plan, place.math, arguments.profile);

  stop_on_signals();
  SweepOptions options;
  options.max_elements = 4;
  options.keep_results = true;
  const SweepResult result = sweep(plan, options);
  bool finding = false;
  for (const StepResult& r : result.results) {
    std::printf("%s\n", verdict_line(*r.step.kernel, r.step.executor, planned.spec, r.result).c_str());
    if (r.result.verdict.kind < VerdictKind::inconclusive) continue;
    for (const std::string& line : element_lines(r.result)) std::printf("%s\n", line.c_str());
    if (r.result.failed()) finding = true;
  }
  if (!result.partial && result.executed() == 0) {
    say("no selected kernel takes this case, so nothing was tested");
    return kExitFinding;
  }
  return closing_code(result.partial, result.failure, finding);
}

}  // namespace flashproof
