// The failing kernels and how to see each again.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "reports/views/html/markup.h"
#include "reports/views/html/parts.h"

namespace flashproof::html {
namespace {

int rank(std::string_view form) { return form == "hardened" ? 0 : 1; }

std::string rows(const std::vector<Finding>& findings, std::string_view form) {
  std::string out;
  for (const Finding& f : findings) {
    const Record& r = *f.worst;
    if (r.form != form) continue;
    const std::string detail = r.witness ? r.witness->detail : "";
    const std::string verdict = r.witness && !r.witness->verdict.empty() ? r.witness->verdict : r.verdict;
    out += fmt::format(
        "<tr id=\"f{}\"><th scope=\"row\" class=\"id\">{}</th><td class=\"id\">{}</td><td>{}</td><td>{}</td>"
        "<td class=\"n\">{} of {}</td><td><span class=\"bad\">{}</span>{}{}</td><td>{}</td></tr>\n",
        f.anchor, escaped(r.label()), escaped(r.family), escaped(f.formats), escaped(r.executor), grouped(f.fails),
        grouped(f.cases), escaped(verdict), detail.empty() ? "" : "<br>", escaped(detail),
        r.witness ? command(r.witness->replay) : "");
  }
  return out;
}

std::string table(const std::vector<Finding>& findings, std::string_view form, std::string_view caption) {
  return scrolling(
      caption, fmt::format("<table class=\"list\"><caption>{}</caption>\n<thead><tr>{}{}{}{}{}{}{}</tr></thead>\n"
                           "<tbody>\n{}</tbody></table>\n",
                           escaped(caption), column("kernel"), column("family"), column("formats"), column("executor"),
                           column("failing cases", "n"), column("worst"), column("replay"), rows(findings, form)));
}

std::uint64_t failing(const std::vector<Finding>& findings, std::string_view form) {
  return static_cast<std::uint64_t>(
      std::count_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.worst->form == form; }));
}

struct FindingCounts {
  std::uint64_t hardened = 0, hardened_failing = 0, published_failing = 0, broken = 0, broken_failing = 0, beaten = 0;
  std::uint64_t hardened_passed = 0;               // cases
  std::uint64_t open_runs = 0, open_elements = 0;  // of every kernel, as in the program's exit code
  Counts runs{};
};

FindingCounts tally(const View& view) {
  FindingCounts t;
  for (const Record& r : view.records) {
    const bool broken = r.form == "broken";
    t.hardened += r.form == "hardened" ? 1 : 0;
    t.broken += broken ? 1 : 0;
    t.beaten += r.beaten ? 1 : 0;
    t.hardened_passed += r.form == "hardened" ? r.by_case[kPass] : 0;
    t.open_runs += r.by_case[kInconclusive];
    t.open_elements += r.open_elements;
    if (!broken) {
      for (std::size_t i = 0; i < t.runs.size(); ++i) t.runs[i] += r.by_case[i];
    }
    if (!r.failed()) continue;
    ++(broken ? t.broken_failing : r.form == "hardened" ? t.hardened_failing : t.published_failing);
  }
  return t;
}

std::string tile(std::string_view number, std::string_view what, std::string_view classes = "") {
  return fmt::format("<li class=\"tile {}\"><b>{}</b> <span>{}</span></li>\n", classes, number, what);
}

std::string verdict_line(std::string_view style, std::string_view mark, std::string_view word, std::string_view text) {
  return fmt::format(
      "<p class=\"verdict {}\"><span class=\"mark\" aria-hidden=\"true\">{}</span> <strong>{}</strong> {}</p>\n", style,
      mark, word, text);
}

bool nightly(const View& view) {
  return std::any_of(view.runs.begin(), view.runs.end(), [](const auto& run) {
    const auto tier = run.find("tier");
    return tier != run.end() && tier->second == "nightly";
  });
}

/// Green only where the program's exit code is 0 and something was decided.
std::string verdict(const View& view, const FindingCounts& t) {
  if (t.hardened_failing > 0) {
    return verdict_line("fails", "✕", "Fails.",
                        fmt::format("Hardened kernels fail in {} of {} kernel × format × family.",
                                    grouped(t.hardened_failing), grouped(t.hardened)));
  }
  if (!view.partial.empty()) {
    return verdict_line(
        "undecided", "○", "Partial.",
        fmt::format("No hardened kernel fails in what has run: {} of its cases passed.", grouped(t.hardened_passed)));
  }
  if (t.hardened == 0) return verdict_line("undecided", "○", "No hardened kernel was run.", "");
  if (nightly(view) && (t.open_runs > 0 || t.open_elements > 0)) {
    return verdict_line("undecided", "○", "Undecided.",
                        fmt::format("A nightly run fails for what stays inconclusive: {} elements, {} runs.",
                                    grouped(t.open_elements), grouped(t.open_runs)));
  }
  if (t.hardened_passed == 0) {
    return verdict_line("undecided", "○", "Undecided.", "No hardened kernel fails, and none passed a case.");
  }
  return verdict_line("passes", "✓", "Passes.",
                      fmt::format("No hardened kernel fails, in {} kernel × format × family.", grouped(t.hardened)));
}

std::string environment(const View& view) {
  std::vector<std::string> names = {"date",     "tier",          "seed",  "executors",   "math",
                                    "profile",  "command_line",  "cases", "kernel_runs", "revision",
                                    "compiler", "cuda_compiler", "flags", "cpu",         "gpu"};
  for (const auto& run : view.runs) {
    for (const auto& [name, value] : run) {
      if (name != "partial" && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  std::string out = "<table class=\"facts\"><caption>How this was measured</caption>\n<tbody>\n";
  for (const std::string& name : names) {
    std::vector<std::string> values;
    for (const auto& run : view.runs) {
      const auto found = run.find(name);
      values.push_back(found == run.end() ? "" : found->second);
    }
    if (std::all_of(values.begin(), values.end(), [](const std::string& v) { return v.empty(); })) continue;
    const bool same = std::equal(values.begin() + 1, values.end(), values.begin());
    std::string label = name;
    std::replace(label.begin(), label.end(), '_', ' ');
    out += fmt::format("<tr><th scope=\"row\">{}</th>", escaped(label));
    if (same && values.size() > 1) {
      out += fmt::format("<td colspan=\"{}\">{}</td>", values.size(), escaped(values[0]));
    } else {
      for (const std::string& value : values) out += fmt::format("<td>{}</td>", escaped(value));
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table>\n";
}

}  // namespace

std::vector<Finding> find_findings(const View& view) {
  // Formats of one kernel, executor, math and family together.
  std::map<std::tuple<int, std::string, std::string, std::string>, Finding> groups;
  for (const Record& r : view.records) {
    if (!r.failed() || r.form == "broken") continue;
    Finding& f = groups[{rank(r.form), r.label(), r.executor, r.family}];
    if (f.worst == nullptr || is_worse(r.ratio, f.worst->ratio)) f.worst = &r;
    f.formats += (f.formats.empty() ? "" : ", ") + r.format;
    f.fails += r.by_case[kFail];
    f.cases += r.cases;
  }
  std::vector<Finding> findings;
  for (auto& [key, finding] : groups) {
    finding.anchor = findings.size() + 1;
    findings.push_back(std::move(finding));
  }
  return findings;
}

std::string summary(const View& view, const std::vector<Finding>& findings) {
  const FindingCounts t = tally(view);
  std::string out;
  for (const std::string& why : view.partial) {
    out += fmt::format("<p class=\"partial\" role=\"note\"><strong>Partial report:</strong> {}</p>\n", escaped(why));
  }
  out += verdict(view, t) + "<ul class=\"tiles\">\n";
  out += tile(grouped(t.hardened_failing), "hardened failing", t.hardened_failing > 0 ? "alarm" : "");
  out += tile(grouped(t.published_failing), "published failing <small>(expected)</small>");
  if (t.broken > 0)
    out += tile(fmt::format("{} / {}", grouped(t.broken_failing), grouped(t.broken)), "seeded faults seen");
  out += tile(grouped(t.runs[kInconclusive]), "inconclusive runs");
  out += tile(grouped(t.runs[kUndecided]), "undecided runs");
  out += tile(grouped(t.runs[kOutOfDomain]), "runs out of domain");
  out += tile(grouped(t.runs[kUnsupported]), "unsupported runs");
  out += tile(grouped(t.runs[kVacuous]), "vacuous runs");
  out += tile(grouped(view.investigate.size()), "to investigate");
  if (t.beaten > 0) out += tile(grouped(t.beaten), "worst known cases beaten");
  out += tile(grouped(view.records.size()), "records");
  out += tile(grouped(view.cases), "cases");
  out += tile(grouped(view.kernel_runs), "kernel runs");
  out += "</ul>\n";
  if (failing(findings, "hardened") > 0) out += table(findings, "hardened", "What failed in hardened kernels");
  if (!view.runs.empty()) out += environment(view);
  return out;
}

std::string published_findings(const std::vector<Finding>& findings) {
  const std::uint64_t n = failing(findings, "published");
  if (n == 0) return "<p>No published kernel was seen to fail.</p>\n";
  return fmt::format(
      "<details id=\"published-list\"><summary>{} kernel × executor × family, with the command that replays "
      "each</summary>\n{}</details>\n",
      grouped(n), table(findings, "published", "Where published kernels fail"));
}

}  // namespace flashproof::html
