#include "reports/cli/files.h"

#include <fmt/format.h>

#include "reference/system/atomic_file.h"
#include "reports/views/html/html.h"
#include "reports/views/junit/junit.h"
#include "reports/views/terminal/text.h"

namespace flashproof {

namespace fs = std::filesystem;

void require_report_files(const fs::path& out) {
  for (const char* file : {"report.json", "report.html", "report.md", "junit.xml"}) replaceable_file(out / file);
}

std::string write_report_files(const fs::path& out, const Report& report) {
  write_atomically(out / "report.html", html_text(report));
  write_atomically(out / "report.md", markdown_text(report));
  write_atomically(out / "junit.xml", junit_text(report));
  write_atomically(out / "report.json", json_text(report));
  return fmt::format("{}, report.html, report.md and junit.xml", one_line((out / "report.json").string()));
}

}  // namespace flashproof
