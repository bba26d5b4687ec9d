// render: report.json again as a page.
#include <filesystem>

#include "reference/problem/atomic_file.h"
#include "reference/problem/error.h"
#include "reference/problem/exit_codes.h"
#include "reference/problem/text.h"
#include "reports/cli/commands/commands.h"
#include "reports/record/read_report.h"
#include "reports/views/html/html.h"
#include "reports/views/terminal/report_block.h"
#include "reports/views/terminal/text.h"

namespace flashproof {

int render_command(const std::string& report_file, const std::string& out_file) {
  const std::filesystem::path from = report_file;
  const std::filesystem::path to =
      out_file.empty() ? std::filesystem::path(from).replace_extension(".html") : std::filesystem::path(out_file);
  Report report = read_report(report_file);
  report.block = report_block(report, Kernels::hardened);
  std::error_code error;
  if (std::filesystem::equivalent(from, to, error)) {
    throw UsageError("--out " + quote(to.string()) + ": is the report itself; must be another file");
  }
  require_writable_file(to, "--out");
  write_atomically(to, html_text(report));
  say("wrote " + one_line(to.string()));
  return kExitFine;
}

}  // namespace flashproof
