// merge: several report.json as one, with its table, page and files.
#include <fmt/format.h>

#include <cstdio>

#include "reference/problem/error.h"
#include "reference/problem/exit_codes.h"
#include "reports/cli/commands/commands.h"
#include "reports/cli/files.h"
#include "reports/record/merge.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

/// As the last lines of `report`.
std::string closing_lines(const Report& report) {
  std::string out;
  std::uint64_t cases = 0, kernel_runs = 0, hardened = 0, published = 0;
  for (const Run& run : report.runs) {
    cases += run.cases;
    kernel_runs += run.kernel_runs;
    if (!run.partial.empty())
      out += fmt::format("PARTIAL, the run of seed {}: {}\n", run.environment.seed, one_line(run.partial));
  }
  for (const Finding& f : report.findings) {
    hardened += f.record->kernel->form == Form::hardened ? 1 : 0;
    published += f.record->kernel->form == Form::published ? 1 : 0;
  }
  return out + fmt::format(
                   "{} runs, {} cases, {} runs of a kernel on a case. Failing kernel x format x family: {} "
                   "hardened, {} published.\n",
                   report.runs.size(), cases, kernel_runs, hardened, published);
}

}  // namespace

int merge_command(const MergeArguments& arguments) {
  KernelNames names;
  const Report report = merge_reports(arguments.files, {arguments.allow_partial}, names);
  require_writable(arguments.out, "--out");
  require_report_files(arguments.out);
  if (const auto facts = differing_facts(report.runs); !facts.empty()) {
    say(fmt::format("the runs differ in {}: their cases are counted together all the same", fmt::join(facts, ", ")));
  }
  const std::string text = table_text(report, terminal_columns(), false) + closing_lines(report);
  std::fwrite(text.data(), 1, text.size(), stdout);
  say("wrote " + write_report_files(arguments.out, report));
  return kExitFine;
}

}  // namespace flashproof
