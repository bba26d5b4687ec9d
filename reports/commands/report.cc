// report: sweep, table on stdout, report.json, report.md and witnesses in --out.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

#include "reference/problem/atomic_file.h"
#include "reference/problem/error.h"
#include "reference/problem/exit_codes.h"
#include "reports/commands/commands.h"
#include "reports/native.h"
#include "reports/progress.h"
#include "reports/report.h"
#include "reports/text.h"
#include "reports/workers.h"

namespace flashproof {
namespace {

int terminal_columns() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return std::clamp<int>(size.ws_col, 80, 200);
  }
  return 150;
}

std::string closing_lines(const Report& report) {
  if (report.plan->cases.empty()) return "";  // gradients alone
  std::uint64_t hardened = 0, published = 0, runs = 0;
  for (const Finding& f : report.findings) {
    if (f.record->kernel->form == Form::hardened) ++hardened;
    if (f.record->kernel->form == Form::published) ++published;
  }
  for (const Record& r : report.result.records) runs += r.cases;
  return fmt::format("{}{} cases, {} runs, {:.1f} s. Failing kernel x format x family: {} hardened, {} published.\n",
                     report.result.partial ? fmt::format("PARTIAL, {}\n", partial_text(report.result.failure)) : "",
                     report.plan->cases.size(), runs, report.result.timing.wall, hardened, published);
}

}  // namespace

int report_command(const SweepArguments& arguments) {
  const std::filesystem::path out = arguments.out;
  Plan plan = make_plan(arguments.filters, arguments.tier(), arguments.seed, {});
  check_math(arguments.math, arguments.profile, arguments.executor);
  const auto executors = plan.executors = executors_for(arguments.executor);
  if (executors.empty()) return kExitSkipped;
  GradientPlan gradient_plan =
      make_gradient_plan(arguments.filters, seeds_of(arguments.tier()), arguments.seed, executors);
  const std::string profile = choose_math(plan, gradient_plan, arguments.math, arguments.profile);
  require_writable(out, "--out");
  for (const char* file : {"report.json", "report.md"}) replaceable_file(out / file);

  stop_on_signals();
  Report report;
  report.plan = &plan;
  report.environment =
      this_environment(std::find(executors.begin(), executors.end(), Executor::cuda) != executors.end());
  report.environment.command_line = arguments.command_line;
  report.environment.tier = name(arguments.tier());
  report.environment.executors = executors.size() == 2 ? "cpu cuda" : std::string(name(executors[0]));
  if (!profile.empty()) report.environment.executors += fmt::format(", math {}, profile {}", arguments.math, profile);
  report.environment.seed = arguments.seed;
  SweepOptions options;
  options.jobs = jobs_for(arguments.jobs);
  {
    Progress progress("cases");
    options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
    report.result = sweep(plan, options);
  }
  report.gradients.plan = &gradient_plan;
  if (!report.result.partial && !gradient_plan.cases.empty()) {
    Progress progress("gradient cases");
    options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
    report.gradients.result = sweep(gradient_plan, options);
  }
  const bool partial = report.result.partial || report.gradients.result.partial;
  if (!partial && report.result.executed() + report.gradients.result.executed() == 0) {
    say("no case was executed, so nothing was tested: the selected kernels, families and formats have none in common, "
        "or every case is unsupported");
    return kExitFinding;
  }
  report.findings = write_findings(plan, report.result.records, out);
  report.gradients.findings = write_findings(gradient_plan, report.gradients.result.records, out);
  write_atomically(out / "report.json", json_text(report));
  write_atomically(out / "report.md", markdown_text(report));
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  const std::string text = table_text(report, terminal_columns(), terminal) + closing_lines(report) +
                           closing_line(report.gradients) + refined_line(report.result.records) +
                           open_line(report.result.records, arguments.nightly);
  std::fwrite(text.data(), 1, text.size(), stdout);  // main() reports a stdout that takes nothing
  say("wrote " + one_line((out / "report.json").string()) + " and " + one_line((out / "report.md").string()));
  return closing_code(partial, report.result.partial ? report.result.failure : report.gradients.result.failure,
                      has_finding(report.result.records, arguments.nightly) ||
                          has_finding(report.gradients.result.records, arguments.nightly));
}

}  // namespace flashproof
