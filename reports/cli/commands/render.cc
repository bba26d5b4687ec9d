// render: report.json again as a page, or spelled out.
#include <filesystem>

#include "reference/system/atomic_file.h"
#include "reference/system/error.h"
#include "reference/system/exit_codes.h"
#include "reference/system/text.h"
#include "reports/cli/commands/commands.h"
#include "reports/record/read_report.h"
#include "reports/views/html/html.h"
#include "reports/views/terminal/report_block.h"
#include "reports/views/terminal/text.h"

namespace flashproof {

namespace {

void require_other_file(const std::filesystem::path& from, const std::filesystem::path& to, std::string_view option) {
  std::error_code error;
  if (std::filesystem::equivalent(from, to, error)) {
    throw UsageError(std::string(option) + " " + quote(to.string()) + ": is the report itself; must be another file");
  }
  require_writable_file(to, option);
}

void write_and_say(const std::filesystem::path& to, const std::string& text) {
  write_atomically(to, text);
  say("wrote " + one_line(to.string()));
}

}  // namespace

int render_command(const RenderArguments& arguments) {
  const std::filesystem::path from = arguments.report,
                              page = arguments.page.empty() ? std::filesystem::path(from).replace_extension(".html")
                                                            : std::filesystem::path(arguments.page);
  const bool wants_page = !arguments.page.empty() || arguments.json.empty();
  Report report = read_report(arguments.report);
  report.block = report_block(report, Kernels::hardened);
  if (wants_page) require_other_file(from, page, "--out");
  if (!arguments.json.empty()) require_other_file(from, arguments.json, "--json");
  if (wants_page) write_and_say(page, html_text(report));
  if (!arguments.json.empty()) write_and_say(arguments.json, json_text(report, Spelled::out));
  return kExitFine;
}

}  // namespace flashproof
