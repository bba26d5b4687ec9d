// check KERNEL...: every finding of the selected kernels, element by element.
#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "reference/problem/exit_codes.h"
#include "reference/problem/progress.h"
#include "reference/problem/text.h"
#include "reports/cli/commands/commands.h"
#include "reports/record/report.h"
#include "reports/run/native.h"
#include "reports/run/sweep.h"
#include "reports/workers/workers.h"

namespace flashproof {

namespace {

/// Every finding of one sweep, element by element.
std::uint64_t show_findings(const Plan& plan, const SweepResult& result, bool nightly) {
  std::uint64_t findings = 0;
  for (const StepResult& r : result.results) {
    const bool open = nightly && r.result.verdict.kind == VerdictKind::inconclusive;
    if (!r.result.failed() && !open) continue;
    ++findings;
    const CaseSpec& spec = plan.cases[r.result.case_index].spec;
    std::printf("%s\n", one_line(verdict_line(*r.step.kernel, r.step.executor, spec, r.result)).c_str());
    for (const std::string& text : element_lines(r.result.elements, r.result.failing_elements)) {
      std::printf("%s\n", one_line(text).c_str());
    }
  }
  return findings;
}

void show_rows(const std::vector<Record>& rows) {
  for (const Record& row : rows) {
    std::printf("%s\n", fmt::format("{} {} {}: {} cases, {} pass, {} vacuous, {} out_of_domain, {} unsupported, "
                                    "{} undecided, {} inconclusive, {} fail",
                                    row.kernel->id, info(row.format).name, place(row.kernel->math, row.executor),
                                    row.cases, row.by_case[0], row.by_case[1], row.by_case[2], row.by_case[3],
                                    row.by_case[4], row.by_case[5], row.by_case[6])
                            .c_str());
  }
}

}  // namespace

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
  const std::uint64_t findings = show_findings(plan, result, arguments.nightly);
  show_rows(per_kernel(result.records));
  if (!result.partial && result.executed() == 0) {
    say("no case was executed, so nothing was tested");
    return kExitFinding;
  }
  const std::vector<Undecided> undecided = undecided_of(result.records, Kernels::all);
  const std::vector<Undecided> narrow = narrow_declarations(result.records, Kernels::all);
  std::printf("%s%s", undecided_text(narrow, "FAIL declaration").c_str(),
              undecided_text(undecided, "UNDECIDED").c_str());
  return closing_code(result.partial, result.failure, findings > 0 || !narrow.empty(), !undecided.empty());
}

}  // namespace flashproof
