// The failing kernels and how to see each again.
#include <fmt/format.h>

#include <sstream>

#include <algorithm>
#include <map>
#include <tuple>

#include "reports/views/html/markup.h"
#include "reports/views/html/parts.h"
#include "reports/views/terminal/report_block.h"

namespace flashproof::html {
namespace {

std::string rows(const std::vector<FailingFamily>& list, Form form) {
  std::string out;
  for (const FailingFamily& f : list) {
    const Record& r = *f.worst;
    if (r.kernel->form != form) continue;
    const Verdict& verdict = r.worst->verdict;
    out += fmt::format(
        "<tr id=\"f{}\"><th scope=\"row\" class=\"id\">{}</th><td class=\"id\">{}</td><td>{}</td><td>{}</td>"
        "<td class=\"n\">{} of {}</td><td><span class=\"bad\">{}</span>{}{}</td><td>{}</td></tr>\n",
        f.anchor, escaped(label(r)), escaped(r.family), escaped(f.formats), name(r.executor), grouped(f.fails),
        grouped(f.cases), to_string(Verdict{verdict.kind, verdict.failure, {}}), verdict.detail.empty() ? "" : "<br>",
        escaped(verdict.detail), command(replay_command(r)));
  }
  return out;
}

std::string table(const std::vector<FailingFamily>& list, Form form, std::string_view caption) {
  return scrolling(
      caption, fmt::format("<table class=\"list\"><caption>{}</caption>\n<thead><tr>{}{}{}{}{}{}{}</tr></thead>\n"
                           "<tbody>\n{}</tbody></table>\n",
                           escaped(caption), column("kernel"), column("family"), column("formats"), column("executor"),
                           column("failing cases", "n"), column("worst"), column("replay"), rows(list, form)));
}

std::uint64_t failing(const std::vector<FailingFamily>& list, Form form) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(list, [&](const FailingFamily& f) { return f.worst->kernel->form == form; }));
}

struct FindingCounts {
  std::uint64_t hardened = 0, hardened_failing = 0, published_failing = 0, broken = 0, broken_failing = 0, beaten = 0;
  KindCounts runs{};  // of kernels that are not broken

  std::uint64_t of(VerdictKind kind) const { return runs[static_cast<std::size_t>(kind)]; }
};

FindingCounts tally(const Report& report) {
  FindingCounts t;
  for (const Record& r : report.result.records) {
    const bool broken = r.kernel->form == Form::broken, hardened = r.kernel->form == Form::hardened;
    t.hardened += hardened ? 1 : 0;
    t.broken += broken ? 1 : 0;
    t.beaten += r.beaten() ? 1 : 0;
    if (!broken) {
      for (std::size_t i = 0; i < t.runs.size(); ++i) t.runs[i] += r.by_case[i];
    }
    if (failed(r)) ++(broken ? t.broken_failing : hardened ? t.hardened_failing : t.published_failing);
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

/// Green only where the program's exit code is 0 and something was decided: the block's outcome.
std::string verdict(const VerdictBlock& block) {
  switch (block.outcome) {
    case BlockOutcome::fail:
      return verdict_line("fails", "✕", "Fails.", escaped(block.sentence));
    case BlockOutcome::pass:
      return verdict_line("passes", "✓", "Passes.", escaped(block.sentence));
    case BlockOutcome::partial:
      return verdict_line("undecided", "○", "Partial.", escaped(block.sentence));
    case BlockOutcome::undecided:
      return verdict_line("undecided", "○", "Undecided.", escaped(block.sentence));
    case BlockOutcome::none:
      break;
  }
  return verdict_line("undecided", "○", "No verdict.", escaped(block.sentence));
}

/// A row for each fact that some run has.
std::string environment(const std::vector<Run>& runs) {
  using Fact = std::string (*)(const Run&);
  constexpr std::pair<const char*, Fact> kFacts[] = {
      {"date", [](const Run& r) { return r.environment.date; }},
      {"tier", [](const Run& r) { return r.environment.tier; }},
      {"seed", [](const Run& r) { return std::to_string(r.environment.seed); }},
      {"executors", [](const Run& r) { return r.environment.executors; }},
      {"math", [](const Run& r) { return r.environment.math; }},
      {"profile", [](const Run& r) { return r.environment.profile; }},
      {"command line", [](const Run& r) { return r.environment.command_line; }},
      {"cases", [](const Run& r) { return std::to_string(r.cases); }},
      {"kernel runs", [](const Run& r) { return std::to_string(r.kernel_runs); }},
      {"revision", [](const Run& r) { return r.environment.revision; }},
      {"compiler", [](const Run& r) { return r.environment.compiler; }},
      {"cuda compiler", [](const Run& r) { return r.environment.cuda_compiler; }},
      {"flags", [](const Run& r) { return r.environment.flags; }},
      {"cpu", [](const Run& r) { return r.environment.cpu; }},
      {"gpu", [](const Run& r) { return r.environment.gpu; }},
      {"wall time", [](const Run& r) { return fmt::format("{:.1f} s", r.timing.wall); }}};
  std::string out = "<table class=\"facts\"><caption>How this was measured</caption>\n<tbody>\n";
  for (const auto& [what, fact] : kFacts) {
    std::vector<std::string> values;
    values.reserve(runs.size());
    for (const Run& run : runs) values.push_back(fact(run));
    if (std::ranges::all_of(values, &std::string::empty)) continue;
    out += fmt::format("<tr><th scope=\"row\">{}</th>", what);
    if (values.size() > 1 && std::equal(values.begin() + 1, values.end(), values.begin())) {
      out += fmt::format("<td colspan=\"{}\">{}</td>", values.size(), escaped(values[0]));
    } else {
      for (const std::string& value : values) out += fmt::format("<td>{}</td>", escaped(value));
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table>\n";
}

}  // namespace

std::vector<FailingFamily> failing_families(const Report& report) {
  // Formats of one kernel, executor, math and family together.
  std::map<std::tuple<bool, std::string, std::string_view, std::string>, FailingFamily> groups;
  for (const Record& r : report.result.records) {
    if (!failed(r) || r.kernel->form == Form::broken) continue;
    FailingFamily& f = groups[{r.kernel->form != Form::hardened, label(r), name(r.executor), r.family}];
    if (f.worst == nullptr || worse_ratio(r.max_ratio(), f.worst->max_ratio())) f.worst = &r;
    f.formats += fmt::format("{}{}", f.formats.empty() ? "" : ", ", info(r.format).name);
    f.fails += r.count(VerdictKind::fail);
    f.cases += r.cases;
  }
  std::vector<FailingFamily> list;
  for (auto& [key, one] : groups) {
    one.anchor = list.size() + 1;
    list.push_back(std::move(one));
  }
  return list;
}

std::string summary(const Report& report, const std::vector<FailingFamily>& list, std::size_t odd) {
  const FindingCounts t = tally(report);
  std::string out;
  std::uint64_t cases = 0, kernel_runs = 0;
  for (const Run& run : report.runs) {
    cases += run.cases;
    kernel_runs += run.kernel_runs;
    if (run.partial.empty()) continue;
    out += fmt::format("<p class=\"partial\" role=\"note\"><strong>Partial report:</strong> {}</p>\n",
                       escaped(run.partial));
  }
  const VerdictBlock block = report.block.sentence.empty() ? report_block(report, Kernels::hardened) : report.block;
  std::istringstream text(block_text(block, Colour::off));
  out += verdict(block) + "<pre class=\"block\">";
  for (std::string line; std::getline(text, line);) out += escaped(line) + "\n";
  out += "</pre>\n<ul class=\"tiles\">\n";
  out += tile(grouped(t.hardened_failing), "hardened failing", t.hardened_failing > 0 ? "alarm" : "");
  out += tile(grouped(t.published_failing), "published failing <small>(expected)</small>");
  if (t.broken > 0)
    out += tile(fmt::format("{} / {}", grouped(t.broken_failing), grouped(t.broken)), "seeded faults seen");
  out += tile(grouped(t.of(VerdictKind::inconclusive)), "inconclusive runs");
  out += tile(grouped(t.of(VerdictKind::undecided)), "undecided runs");
  out += tile(grouped(t.of(VerdictKind::out_of_domain)), "runs out of domain");
  out += tile(grouped(t.of(VerdictKind::unsupported)), "unsupported runs");
  out += tile(grouped(t.of(VerdictKind::vacuous)), "vacuous runs");
  out += tile(grouped(odd), "to investigate");
  if (t.beaten > 0) out += tile(grouped(t.beaten), "worst known cases beaten");
  out += tile(grouped(report.result.records.size()), "records");
  out += tile(grouped(cases), "cases");
  out += tile(grouped(kernel_runs), "kernel runs");
  out += "</ul>\n";
  if (failing(list, Form::hardened) > 0) out += table(list, Form::hardened, "What failed in hardened kernels");
  return out + environment(report.runs);
}

std::string published_findings(const std::vector<FailingFamily>& list) {
  const std::uint64_t n = failing(list, Form::published);
  if (n == 0) return "<p>No published kernel was seen to fail.</p>\n";
  return fmt::format(
      "<details id=\"published-list\"><summary>{} kernel × executor × family, with the command that replays "
      "each</summary>\n{}</details>\n",
      grouped(n), table(list, Form::published, "Where published kernels fail"));
}

}  // namespace flashproof::html
