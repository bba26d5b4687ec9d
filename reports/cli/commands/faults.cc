// report --faults: every seeded fault against every law and against today's habits; the table on stdout, faults.md and
// faults.json in --out.
#include <cstdio>
#include <filesystem>

#include "kernels/run/observe.h"
#include "properties/laws/support/race_observer.h"
#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reference/system/progress.h"
#include "reports/cli/commands/commands.h"
#include "reports/faults/kill_table.h"
#include "reports/record/report.h"
#include "reports/views/terminal/text.h"
#include "reports/workers/workers.h"

namespace flashproof {

int faults_command(const SweepArguments& arguments) {
  if (seeded_faults().empty()) throw UsageError("--faults: this build has none (FLASHPROOF_FAULTS=OFF)");
  const std::filesystem::path out = arguments.out;
  require_writable(out, "--out");
  for (const char* file : {"faults.json", "faults.md"}) replaceable_file(out / file);
  set_race_observer(observe);
  stop_on_signals();
  KillTable table;
  {
    Progress progress("faults");
    table = kill_table(arguments.filters.kernels, jobs_for(arguments.jobs),
                       [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); });
  }
  write_atomically(out / "faults.json", kill_table_json(table));
  write_atomically(out / "faults.md", kill_table_markdown(table));
  const std::string text = kill_table_text(table);
  std::fwrite(text.data(), 1, text.size(), stdout);
  say("wrote " + one_line((out / "faults.json").string()) + " and " + one_line((out / "faults.md").string()));
  return closing_code(table.partial, table.failure, !table.survivors().empty() || !table.crashed().empty());
}

}  // namespace flashproof
