// check KERNEL...: what is wrong with the selected kernels, by causes; --verbose: every finding, element by element.
#include <algorithm>

#include <fmt/format.h>

#include "reference/system/exit_codes.h"
#include "reference/system/progress.h"
#include "reference/system/text.h"
#include "reports/cli/commands/commands.h"
#include "reports/diagnose/failing_runs.h"
#include "reports/record/report.h"
#include "reports/run/native.h"
#include "reports/run/sweep.h"
#include "reports/views/terminal/report_block.h"
#include "reports/workers/workers.h"

namespace flashproof {

namespace {

/// Every finding of one sweep, element by element.
std::string findings_text(const Plan& plan, const SweepResult& result, bool nightly) {
  std::string out;
  for (const StepResult& r : result.results) {
    const bool open = nightly && r.result.verdict.kind == VerdictKind::inconclusive;
    if (!r.result.failed() && !open) continue;
    const CaseSpec& spec = plan.cases[r.result.case_index].spec;
    out += one_line(verdict_line(*r.step.kernel, r.step.executor, spec, r.result)) + "\n";
    for (const std::string& text : element_lines(r.result.elements, r.result.failing_elements)) {
      out += one_line(text) + "\n";
    }
  }
  return out;
}

std::string rows_text(const std::vector<Record>& rows) {
  std::string out;
  for (const Record& row : rows) {
    out += fmt::format(
        "{} {} {}: {} cases, {} pass, {} vacuous, {} out_of_domain, {} unsupported, {} undecided, {} inconclusive, "
        "{} fail\n",
        row.kernel->id, info(row.format).name, place(row.kernel->math, row.executor), row.cases, row.by_case[0],
        row.by_case[1], row.by_case[2], row.by_case[3], row.by_case[4], row.by_case[5], row.by_case[6]);
  }
  return out;
}

}  // namespace

int check_command(const SweepArguments& arguments) {
  Plan plan = make_plan(arguments.filters, arguments.tier(), arguments.seed, {});
  check_math(arguments.math, arguments.profile);
  plan.executors = executors_for(arguments.executor);
  if (plan.executors.empty()) return kExitSkipped;
  choose_math(plan, arguments.math, arguments.profile);
  stop_on_signals();
  SweepOptions options;
  options.jobs = jobs_for(arguments.jobs);
  compile_ptx(plan, options.jobs);
  options.max_elements = 8;
  options.keep_results = true;
  SweepResult result;
  {
    Progress progress("cases");
    options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
    result = sweep(plan, options);
  }
  if (!result.partial && result.executed() == 0) {
    say("no case was executed, so nothing was tested");
    return kExitFinding;
  }
  const std::string detail = findings_text(plan, result, arguments.nightly) + rows_text(per_kernel(result.records));
  Report report;
  report.undecided = undecided_of(result.records, Kernels::all);
  report.narrow = narrow_declarations(result.records, Kernels::all);
  report.plan = &plan;
  report.runs = {{}};
  report.runs[0].environment.tier = name(arguments.tier());
  report.runs[0].cases = plan.cases.size();
  for (const Record& r : result.records) report.runs[0].kernel_runs += r.cases;
  report.runs[0].timing.wall = result.timing.wall;
  report.findings = findings_of(result.records);
  report.result = std::move(result);
  if (!stop_requested()) report.causes = causes_of(report.result.records, Kernels::all, options.jobs);
  VerdictBlock block = report_block(report, Kernels::all);
  if (!arguments.verbose) block.rest.push_back({"more", "--verbose shows every finding, element by element"});
  show_block(block, arguments.verbose ? detail : "");
  return closing_code(report.result.partial, report.result.failure, block.outcome == BlockOutcome::fail,
                      block.outcome == BlockOutcome::undecided);
}

}  // namespace flashproof
