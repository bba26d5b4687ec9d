#include "reports/views/html/html.h"

#include <fmt/format.h>

#include <functional>
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

std::string title(const View& view) {
  std::string out = "flashproof report";
  if (!view.runs.empty()) {
    for (const char* fact : {"tier", "date"}) {
      const auto found = view.runs[0].find(fact);
      if (found != view.runs[0].end() && !found->second.empty()) out += ", " + found->second;
    }
  }
  return out;
}

/// To the sections that not every report has.
std::string more_links(const View& view) {
  std::string out;
  if (!view.investigate.empty()) out += "<a href=\"#investigate\">To investigate</a>\n";
  if (view.faults != nullptr) out += "<a href=\"#kills\">Seeded faults</a>\n";
  if (view.bench != nullptr) out += "<a href=\"#bench\">Speed</a>\n";
  return out;
}

}  // namespace

std::string html_text(const nlohmann::json& report) {
  const View view = read_view(report);
  const std::vector<Finding> findings = find_findings(view);
  const PageFiles files = page_files();
  // Nothing is loaded, sent or framed, and no script or style runs but those of the build, known by their hashes.
  const std::string policy = fmt::format(
      "default-src 'none'; script-src {} {} {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
      files.head_hash, files.charts_hash, files.script_hash, files.style_hash);
  return filled(files.page, {{"policy", policy},
                             {"title", escaped(title(view))},
                             {"nav", more_links(view)},
                             {"style", std::string(files.style)},
                             {"head", std::string(files.head)},
                             {"charts", std::string(files.charts)},
                             {"script", std::string(files.script)},
                             {"summary", summary(view, findings)},
                             {"matrices", matrices(view, findings)},
                             {"kernels", kernel_table(view)},
                             {"published", published_findings(findings)},
                             {"investigate", investigations(view)},
                             {"kills", kill_table(view)},
                             {"bench", bench_table(view)},
                             {"plots", static_plots(view)},
                             {"data", condensed(view)}});
}

}  // namespace flashproof
