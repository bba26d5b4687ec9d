// report: sweep, table on stdout, report.json, report.md and witnesses in --out.
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reference/system/progress.h"
#include "reports/cli/commands/commands.h"
#include "reports/cli/files.h"
#include "reports/diagnose/failing_runs.h"
#include "reports/ledger/against.h"
#include "reports/ledger/text.h"
#include "reports/record/report.h"
#include "reports/run/attachments.h"
#include "reports/run/ledger_note.h"
#include "reports/run/native.h"
#include "reports/views/terminal/report_block.h"
#include "reports/workers/workers.h"

namespace flashproof {
namespace {

void attach_files(const SweepArguments& arguments, Report& report) {
  const auto read = [](const std::string& file, std::string (*checked)(const JsonAt&)) {
    if (file.empty()) return std::string();
    const nlohmann::json document = read_json(file);
    return checked(JsonAt(document, file));
  };
  report.faults = read(arguments.with_faults, checked_faults);
  report.bench = read(arguments.with_bench, checked_bench);
}

Run run_of(const SweepArguments& arguments, const Report& report, const std::vector<Executor>& executors,
           const std::string& profile, int jobs) {
  Run run;
  run.environment = this_environment(std::ranges::find(executors, Executor::cuda) != executors.end());
  run.environment.command_line = arguments.command_line;
  run.environment.tier = name(arguments.tier());
  run.environment.executors = executors.size() == 2 ? "cpu cuda" : std::string(name(executors[0]));
  run.environment.math = arguments.math;
  run.environment.profile = profile;
  run.environment.seed = arguments.seed;
  const SweepResult& result = report.result;
  if (result.partial) run.partial = partial_text(result.failure);
  run.cases = report.plan->cases.size();
  for (const Record& r : result.records) run.kernel_runs += r.cases;
  const SweepTiming& t = result.timing;
  run.timing = {jobs, t.wall, t.cases, t.truth, t.bound, t.run, t.judge};
  return run;
}

/// The first line, without the word that is the heading.
std::string ledger_text(std::string_view text) {
  constexpr std::string_view kHead = "ledger: ";
  text = text.substr(0, text.find('\n'));
  return std::string(text.starts_with(kHead) ? text.substr(kHead.size()) : text);
}

/// sm_90 of the GPU that this process sees, without keeping a context; empty where no record is of a GPU.
std::string gpu_architecture(const std::vector<Executor>& executors) {
  if (std::ranges::find(executors, Executor::cuda) == executors.end()) return "";
  std::string gpu = "sm_" + gpu_elsewhere().compute_capability;
  std::erase(gpu, '.');
  return gpu;
}

}  // namespace

int report_command(const SweepArguments& arguments) {
  const std::filesystem::path out = arguments.out;
  Plan plan = make_plan(arguments.filters, arguments.tier(), arguments.seed, {});
  check_math(arguments.math, arguments.profile);
  Report report;
  attach_files(arguments, report);
  // A corrupt one is said before the work.
  const Ledger known = option_file("--ledger", [&] { return read_ledger(arguments.ledger); });
  const auto executors = plan.executors = executors_for(arguments.executor);
  if (executors.empty()) return kExitSkipped;
  const std::string profile = choose_math(plan, arguments.math, arguments.profile);
  require_writable(out, "--out");
  require_report_files(out);

  stop_on_signals();
  report.plan = &plan;
  SweepOptions options;
  options.jobs = jobs_for(arguments.jobs);
  compile_ptx(plan, options.jobs);
  {
    Progress progress("cases");
    options.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
    report.result = sweep(plan, options);
  }
  if (!report.result.partial && report.result.executed() == 0) {
    say("no case was executed, so nothing was tested: the selected kernels, families and formats have none in common, "
        "or every case is unsupported");
    return kExitFinding;
  }
  report.runs = {run_of(arguments, report, executors, profile, options.jobs)};
  remove_old_findings(out);
  report.findings = write_findings(plan, report.result.records, out);
  std::vector<Record>& records = report.result.records;
  const std::string gpu = gpu_architecture(executors);
  note_ledger(records, known, gpu);
  report.ledger = against_line(measured_of(records, gpu), known);
  report.undecided = undecided_of(records, Kernels::hardened);
  report.narrow = narrow_declarations(records, Kernels::hardened);
  if (!stop_requested()) report.causes = causes_of(records, Kernels::hardened, options.jobs);
  report.block = report_block(report, Kernels::hardened);
  VerdictBlock block = report.block;
  if (!report.ledger.empty()) block.notes.push_back({"ledger", ledger_text(report.ledger)});
  block.rest.push_back(
      {"written", write_report_files(out, report) + (arguments.verbose ? "" : "; --verbose shows the tables here")});
  const std::string detail = arguments.verbose
                                 ? table_text(report, terminal_columns(), colour_of(STDOUT_FILENO) == Colour::on) +
                                       refined_line(records) + undecided_text(report.undecided, "UNDECIDED")
                                 : "";
  show_block(block, detail);
  return closing_code(report.result.partial, report.result.failure, block.outcome == BlockOutcome::fail,
                      block.outcome == BlockOutcome::undecided);
}

}  // namespace flashproof
