// check KERNEL...: every finding of the selected kernels, element by element.
#include <cstdio>

#include <fmt/format.h>

#include "reports/commands/commands.h"
#include "reports/exit_codes.h"
#include "reports/native.h"
#include "reports/progress.h"
#include "reports/sweep.h"
#include "reports/workers.h"

namespace flashproof {

int check_command(const SweepArguments& arguments) {
  Plan plan = make_plan(arguments.filters, arguments.tier(), arguments.seed, {});
  check_math(arguments.math, arguments.profile, arguments.executor);
  plan.executors = executors_for(arguments.executor);
  if (plan.executors.empty()) return kExitSkipped;
  choose_math(plan, arguments.math, arguments.profile);
  stop_on_signals();
  SweepOptions options;
  options.jobs = jobs_for(arguments.jobs);
  options.max_elements = 8;
  options.keep_results = true;
  SweepResult result;
  {
    Progress progress("cases");
    options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
    result = sweep(plan, options);
  }
  std::uint64_t findings = 0;
  for (const StepResult& r : result.results) {
    const bool open = arguments.nightly && r.result.verdict.kind == VerdictKind::inconclusive;
    if (!r.result.failed() && !open) continue;
    ++findings;
    const CaseSpec& spec = plan.cases[r.result.case_index].spec;
    std::printf("%s\n", verdict_line(*r.step.kernel, r.step.executor, spec, r.result).c_str());
    for (const std::string& line : element_lines(r.result)) std::printf("%s\n", line.c_str());
  }
  for (const Record& row : per_kernel(result.records)) {
    std::printf("%s\n", fmt::format("{} {} {}: {} cases, {} pass, {} vacuous, {} out_of_domain, {} unsupported, "
                                    "{} inconclusive, {} fail",
                                    row.kernel->id, info(row.format).name, place(*row.kernel, row.executor), row.cases,
                                    row.by_case[0], row.by_case[1], row.by_case[2], row.by_case[3], row.by_case[4],
                                    row.by_case[5])
                            .c_str());
  }
  if (!result.partial && result.executed() == 0) {
    say("no case was executed, so nothing was tested");
    return kExitFinding;
  }
  return closing_code(result.partial, result.failure, findings > 0);
}

}  // namespace flashproof
