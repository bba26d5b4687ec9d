#include "reports/views/html/html.h"

#include <fmt/format.h>

#include <map>
#include <stdexcept>

#include "reports/views/html/markup.h"
#include "reports/views/html/page_files.h"
#include "reports/views/html/parts.h"

namespace flashproof {
namespace {

using namespace html;

/// {{name}} by its value, once: what is filled in is not looked at again.
std::string filled(std::string_view page, const std::map<std::string_view, std::string>& values) {
  std::string out;
  for (;;) {
    const std::size_t begin = page.find("{{"), end = page.find("}}", begin);
    out += page.substr(0, begin);
    if (begin == std::string_view::npos) return out;
    out += values.at(page.substr(begin + 2, end - begin - 2));
    page.remove_prefix(end + 2);
  }
}

std::string title(const Report& report) {
  std::string out = "flashproof report";
  if (report.runs.empty()) return out;
  const Environment& e = report.runs[0].environment;
  for (const std::string& fact : {e.tier, e.date}) out += (fact.empty() ? "" : ", ") + fact;
  return out;
}

/// To the sections that not every report has.
std::string more_links(const Report& report, const std::vector<Investigation>& odd) {
  std::string out;
  if (!odd.empty()) out += "<a href=\"#investigate\">To investigate</a>\n";
  if (!report.faults.empty()) out += "<a href=\"#kills\">Seeded faults</a>\n";
  if (!report.bench.empty()) out += "<a href=\"#bench\">Speed</a>\n";
  return out;
}

}  // namespace

std::string html_text(const Report& report) {
  const std::vector<FailingFamily> failing = failing_families(report);
  const std::vector<Investigation> odd = investigations(report);
  const PageFiles files = page_files();
  // Nothing is loaded, sent or framed, and no script or style runs but those of the build, known by their hashes.
  const std::string policy = fmt::format(
      "default-src 'none'; script-src {} {} {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
      files.head_hash, files.charts_hash, files.script_hash, files.style_hash);
  return filled(files.page, {{"policy", policy},
                             {"title", escaped(title(report))},
                             {"nav", more_links(report, odd)},
                             {"style", std::string(files.style)},
                             {"head", std::string(files.head)},
                             {"charts", std::string(files.charts)},
                             {"script", std::string(files.script)},
                             {"summary", summary(report, failing, odd.size())},
                             {"matrices", matrices(report, failing)},
                             {"kernels", kernel_table(report)},
                             {"published", published_findings(failing)},
                             {"investigate", investigation_table(odd)},
                             {"kills", kill_table(report)},
                             {"bench", speed_table(report)},
                             {"plots", static_plots(report)},
                             {"data", condensed(report)}});
}

}  // namespace flashproof
