// The report for a terminal: a compact matrix, one line per kernel and format, the findings, the seeded faults.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/broken/fault.h"
#include "reports/record/report.h"
#include "reports/views/terminal/matrix.h"
#include "reports/views/terminal/table_cells.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

constexpr std::size_t kColumn = 17;  // of the matrix: fits "pass .31 4e-3u 97%"

struct Paint {
  bool on;
  std::string operator()(VerdictKind kind, const std::string& text) const {
    if (!on) return text;
    const char* colour = kind == VerdictKind::fail ? "31" : kind == VerdictKind::pass ? "32" : "33";
    return fmt::format("\033[{}m{}\033[0m", colour, text);
  }
};

/// "attention.online_chunk.published" -> lines of at most kColumn characters, broken at '.' and '_'.
std::vector<std::string> heading(std::string_view id) {
  std::vector<std::string> lines(1);
  while (!id.empty()) {
    const std::size_t end = std::min(id.find_first_of("._"), id.size());
    const bool dot = end < id.size() && id[end] == '.';
    std::string word(id.substr(0, end + (end < id.size() && !dot ? 1 : 0)));
    if (lines.back().size() + word.size() > kColumn) lines.emplace_back();
    lines.back() += word;
    if (dot) lines.emplace_back();
    id.remove_prefix(std::min(id.size(), end + 1));
  }
  return lines;
}

void matrix_panel(const Matrix& matrix, std::size_t begin, std::size_t end, std::size_t label, const Paint& paint,
                  std::string& out) {
  std::vector<std::vector<std::string>> headings;
  std::size_t height = 0;
  for (std::size_t k = begin; k < end; ++k) {
    const MatrixColumn& kernel = matrix.kernels[k];
    headings.push_back(heading(std::string(kernel.id) + (kernel.math == Math::native ? ".native" : "")));
    height = std::max(height, headings.back().size());
  }
  for (std::size_t line = 0; line < height; ++line) {
    std::string text = pad(line + 1 == height ? "family" : "", label);
    for (const auto& h : headings) {
      const std::size_t top = height - h.size();  // headings stand on the table
      text += fmt::format(" {}", pad(line >= top ? h[line - top] : "", kColumn));
    }
    out += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  }
  for (std::size_t f = 0; f < matrix.families.size(); ++f) {
    const auto first = matrix.cells[f].begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = matrix.cells[f].begin() + static_cast<std::ptrdiff_t>(end);
    if (std::none_of(first, last, [](const Cell& c) { return c.present; })) continue;
    std::string text = pad(one_line(matrix.families[f]), label);
    for (auto cell = first; cell != last; ++cell) {
      text += fmt::format(" {}", cell->present ? paint(cell->kind, pad(cell->text(), kColumn)) : pad(".", kColumn));
    }
    out += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  }
  out += "\n";
}

void matrix_text(const Matrix& matrix, std::size_t columns, const Paint& paint, std::string& out) {
  std::size_t label = 8;
  for (const std::string& family : matrix.families) label = std::max(label, family.size());
  const std::size_t room = columns > label ? columns - label : 0;
  const std::size_t per_panel = std::max<std::size_t>(1, room / (kColumn + 1));
  for (std::size_t begin = 0; begin < matrix.kernels.size(); begin += per_panel) {
    matrix_panel(matrix, begin, std::min(matrix.kernels.size(), begin + per_panel), label, paint, out);
  }
}

void kernel_lines(const std::vector<Record>& rows, const Paint& paint, std::string& out) {
  std::size_t label = 6;
  for (const Record& r : rows) label = std::max(label, r.kernel->id.size());
  out += fmt::format("{} {:<5}{:<5}{:>6}{:>6}{:>6}{:>6}{:>6}{:>6}{:>6}{:>6}{:>8}{:>7} {:<12}{:>7}  {:<24} {}\n",
                     pad("kernel", label), "fmt", "exec", "cases", "pass", "undec", "vacu", "outs", "unsup", "open",
                     "fail", "max ulp", "rmse", "mostly", "lse abs", "err/B", "worst case");
  for (const Record& r : rows) {
    const auto n = [&](VerdictKind kind) { return count_of(r, kind); };
    const ErrorStats values = r.values();
    const bool measured = values.finite_elements > 0;
    const std::string fails = pad_left(std::to_string(n(VerdictKind::fail)), 6);
    out += fmt::format("{} {:<5}{:<5}{:>6}{:>6}{:>6}{:>6}{:>6}{:>6}{:>6}{}{:>8}{:>7} {:<12}{:>7}  {} {}\n",
                       pad(r.kernel->id, label), info(r.format).name, place(*r.kernel, r.executor), r.cases,
                       n(VerdictKind::pass), n(VerdictKind::undecided), n(VerdictKind::vacuous),
                       n(VerdictKind::out_of_domain), n(VerdictKind::unsupported), n(VerdictKind::inconclusive),
                       n(VerdictKind::fail) > 0 ? paint(VerdictKind::fail, fails) : fails,
                       measured ? short_number(values.max_ulp) : "-", measured ? short_number(values.rmse()) : "-",
                       r.worst ? dominating_term(r.worst->element.bound) : "-",
                       r.lse.finite_elements > 0 ? short_number(r.lse.max_abs) : "-",
                       pad(ratios_text(r, r.kernel->problem), 24), worst_case_line(r));
  }
  out +=
      "counts are cases. undec: too few elements were decided; vacu: the bound is too wide to test anything; outs: "
      "outside the domain, or beyond the range "
      "of a form that refuses it; unsup: refused by the "
      "kernel; open: truth and limit not told apart.\nmax ulp and rmse (of o, or of dq, dk and dv) and lse abs are "
      "over every finite element, also "
      "where "
      "scores of 1e38 or a cancelling v leave it no correct digit: err/B says whether that is right\n\n";
}

void findings_text(const Report& report, Form form, const char* title, std::string& out) {
  const std::vector<FindingGroup> groups = group_findings(report, form);
  if (!groups.empty()) out += fmt::format("{}\n", title);
  for (const FindingGroup& g : groups) {
    const Record& r = *g.first->record;
    if (form == Form::published) {
      out += fmt::format("  {} {} {} {}: {} of {} cases, {}   {}\n", r.kernel->id, place(*r.kernel, r.executor),
                         one_line(r.family), g.formats, g.fails, g.cases, name(r.worst->verdict.failure),
                         g.first->case_line);
      continue;
    }
    out += fmt::format("  {} {} {} {}: {} of {} cases, worst {}\n    {}   ({})\n", r.kernel->id,
                       place(*r.kernel, r.executor), one_line(r.family), g.formats, g.fails, g.cases,
                       to_string(Verdict{r.worst->verdict.kind, r.worst->verdict.failure, {}}),
                       replay_command(*g.first), g.first->case_line);
  }
  if (!groups.empty()) out += "\n";
}

constexpr std::size_t kMostInvestigations = 12;

void investigate_text(const Report& report, std::string& out) {
  const std::vector<Investigation> list = investigations(report);
  if (list.empty()) return;
  const std::vector<InvestigationGroup> groups = group_investigations(list);
  const std::size_t shown = std::min(groups.size(), kMostInvestigations);
  out += fmt::format("To investigate: passed, but above what chance explains (reference/error/README.md)\n{}{}\n",
                     investigation_summary(report, list),
                     shown < groups.size() ? fmt::format("; the worst {} of {}:", shown, groups.size()) : ":");
  for (std::size_t i = 0; i < shown; ++i) {
    const Investigation& worst = groups[i].worst;
    const Record& r = *worst.record;
    out += fmt::format("  {} {} {} {}: {}\n", r.kernel->id, place(*r.kernel, r.executor), one_line(r.family),
                       groups[i].formats, investigation_text(groups[i]));
    if (!worst.bias) out += fmt::format("    {}\n", investigation_place(worst));
  }
  const std::vector<Assumption> blamed = blamed_assumptions(list);
  if (!blamed.empty()) out += "  most likely broken:\n";
  for (const Assumption& a : blamed) out += fmt::format("    {}: {}\n", a.key, a.text);
  out += "\n";
}

/// Families that leave the domain, and of each kernel the row inside that comes nearest to leaving it, if it comes near.
void domain_text(const std::vector<Record>& records, std::string& out) {
  const std::vector<DomainLine> lines = domain_lines(records);
  std::string text;
  for (auto line = lines.begin(); line != lines.end();) {
    const DomainLine* nearest = nullptr;
    double load = kNearLimit;
    const Kernel* kernel = line->kernel;
    for (; line != lines.end() && line->kernel == kernel; ++line) {
      if (line->domain.outside > 0) {
        text += fmt::format("  {} {}: {}\n", full_id(*kernel), one_line(line->family), outside_text(line->domain));
      }
      const auto* entry = line->domain.nearest();
      if (entry == nullptr || !(entry->second.nearest.load() >= load)) continue;
      load = entry->second.nearest.load();
      nearest = &*line;
    }
    if (nearest != nullptr) {
      text += fmt::format("  {} nearest inside: {}, {}\n", full_id(*kernel), one_line(nearest->family),
                          nearest_text(nearest->domain));
    }
  }
  if (!text.empty()) out += "Domain of the bounds\n" + text + "\n";
}

void faults_text(const std::vector<Record>& rows, std::string& out) {
  bool any = false;
  for (const Record& r : rows) {
    if (r.kernel->form != Form::broken) continue;
    if (!any) out += "Seeded faults\n";
    any = true;
    const Rejection by = r.rejection();
    out += fmt::format("  {} {} {}: rejected by {} in {} of {} cases; {}\n", r.kernel->id, info(r.format).name,
                       name(r.executor), by.law, by.cases, r.cases, defect_of(r.kernel->fault));
  }
  if (any) out += "\n";
}

}  // namespace

std::string table_text(const Report& report, int columns, bool colour) {
  const Paint paint{colour};
  std::string out;
  const Matrix matrix = make_matrix(report.result.records);
  matrix_text(matrix, static_cast<std::size_t>(std::max(columns, 40)), paint, out);
  const std::vector<Record> rows = per_kernel(report.result.records);
  std::vector<Record> shown;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(shown),
               [](const Record& r) { return r.kernel->form != Form::broken; });
  if (!matrix.kernels.empty())
    out += fmt::format("{}\n\n", wrapped(kMatrixLegend, static_cast<std::size_t>(std::max(columns, 40))));
  if (!shown.empty()) kernel_lines(shown, paint, out);
  findings_text(report, Form::hardened, "Findings in hardened kernels", out);
  findings_text(
      report, Form::published,
      "Where the published forms fail (expected); ./flashproof replay CASE, or a file in the witnesses folder", out);
  investigate_text(report, out);
  domain_text(report.result.records, out);
  faults_text(rows, out);
  return out;
}

}  // namespace flashproof
