// merge: several report.json as one, with its table, page and files.
#include <fmt/format.h>

#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reports/cli/commands/commands.h"
#include "reports/cli/files.h"
#include "reports/record/merge.h"
#include "reports/views/terminal/report_block.h"

namespace flashproof {
int merge_command(const MergeArguments& arguments) {
  KernelNames names;
  Report report = merge_reports(arguments.files, {arguments.allow_partial}, names);
  require_writable(arguments.out, "--out");
  require_report_files(arguments.out);
  if (const auto facts = differing_facts(report.runs); !facts.empty()) {
    say(fmt::format("the runs differ in {}: their cases are counted together all the same", fmt::join(facts, ", ")));
  }
  report.block = report_block(report, Kernels::hardened);
  VerdictBlock block = report.block;
  block.rest.push_back({"written", write_report_files(arguments.out, report)});
  show_block(block, arguments.verbose ? table_text(report, terminal_columns(), false) : "");
  return kExitFine;
}

}  // namespace flashproof
