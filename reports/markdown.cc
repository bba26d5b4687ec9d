// The report as GitHub-flavoured Markdown, short enough to be shown: tables are cut where the room ends.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/broken/fault.h"
#include "reports/gradients/markdown.h"
#include "reports/markdown_parts.h"
#include "reports/report.h"
#include "reports/text.h"

namespace flashproof {

using namespace markdown_parts;

namespace {

void summary(const Report& report, std::string& out) {
  const Environment& e = report.environment;
  std::uint64_t runs = 0, hardened = 0, published = 0;
  for (const Record& r : report.result.records) runs += r.cases;
  for (const Finding& f : report.findings) {
    if (f.record->kernel->form == Form::hardened) ++hardened;
    if (f.record->kernel->form == Form::published) ++published;
  }
  out += "# flashproof report\n\n";
  if (report.result.partial) out += fmt::format("**Partial:** {}\n\n", cell(partial_text(report.result.failure)));
  out += fmt::format(
      "{} cases, {} runs of a kernel on a case. Failing kernel × format × family: {} hardened, {} published.\n\n",
      report.plan->cases.size(), runs, hardened, published);
  out +=
      fmt::format("- date {}, tier {}, seed {}, executors {}\n", cell(e.date), cell(e.tier), e.seed, cell(e.executors));
  out += fmt::format("- command {}\n- revision {}\n- compiler {}, flags {}\n", code(shortened(e.command_line)),
                     code(e.revision), cell(e.compiler), code(e.flags));
  if (const std::string refined = refined_line(report.result.records); !refined.empty()) out += "- " + refined;
  if (!e.cuda_compiler.empty()) out += fmt::format("- CUDA compiler {}\n", cell(e.cuda_compiler));
  out += fmt::format("- CPU {}\n- GPU {}\n\n", cell(e.cpu), cell(e.gpu));
}

void matrix(const Report& report, std::string& out) {
  const Matrix m = make_matrix(report.result.records);
  if (m.kernels.empty()) return;
  out += fmt::format("## Kernel × family\n\n{}\n\n| family |", kMatrixLegend);
  for (const Kernel* kernel : m.kernels) {
    // The last word on a line of its own: published and hardened stand under one name.
    const std::size_t dot = kernel->id.rfind('.');
    out += fmt::format(" {}<br>{}{} |", code(kernel->id.substr(0, dot)), cell(kernel->id.substr(dot + 1)),
                       kernel->math == Math::native ? " native" : "");
  }
  out += "\n|---|";
  for (std::size_t k = 0; k < m.kernels.size(); ++k) out += "---|";
  out += "\n";
  for (std::size_t f = 0; f < m.families.size(); ++f) {
    out += fmt::format("| {} |", code(m.families[f]));
    for (const Cell& c : m.cells[f]) {
      const bool bold = c.present && c.kind == VerdictKind::fail;
      out += bold ? fmt::format(" **{}** |", c.text()) : fmt::format(" {} |", c.text());
    }
    out += "\n";
  }
  out += "\n";
}

Section kernel_table(const Report& report) {
  Section section;
  section.head =
      "## Kernels\n\n| kernel | form | format | executor | cases | pass | vacuous | out of domain | unsupported | "
      "inconclusive | fail | max ulp | rmse | max error/bound | mostly | lse max abs | worst case |\n"
      "|---|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|--:|---|\n";
  for (const Record& r : per_kernel(report.result.records)) {
    if (r.kernel->form == Form::broken) continue;
    const auto n = [&](VerdictKind kind) { return count_of(r, kind); };
    const bool measured = r.o.finite_elements > 0;
    section.rows.push_back(fmt::format(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", code(r.kernel->id),
        name(r.kernel->form), info(r.format).name, place(*r.kernel, r.executor), r.cases, n(VerdictKind::pass),
        n(VerdictKind::vacuous), n(VerdictKind::out_of_domain), n(VerdictKind::unsupported),
        n(VerdictKind::inconclusive), n(VerdictKind::fail), measured ? short_number(r.o.max_ulp) : "–",
        measured ? short_number(r.o.rmse()) : "–", r.max_ratio() < 0 ? "–" : short_number(r.max_ratio()),
        r.worst ? dominating_term(r.worst->element.bound) : "–",
        r.lse.finite_elements > 0 ? short_number(r.lse.max_abs) : "–", code(worst_case_line(*report.plan, r))));
  }
  return section;
}

Section findings(const Report& report, Form form, const char* title) {
  Section section;
  section.head = fmt::format(
      "## {}\n\n| kernel | formats | executor | family | failing | worst | what | replay | case |\n"
      "|---|---|---|---|--:|---|---|---|---|\n",
      title);
  for (const FindingGroup& g : group_findings(report, form)) {
    const Record& r = *g.first->record;
    section.rows.push_back(fmt::format("| {} | {} | {} | {} | {} of {} | {} | {} | {} | {} |\n", code(r.kernel->id),
                                       g.formats, place(*r.kernel, r.executor), code(r.family), g.fails, g.cases,
                                       cell(to_string(Verdict{r.worst->verdict.kind, r.worst->verdict.failure, {}})),
                                       cell(r.worst->verdict.detail), code(replay_command(*g.first)),
                                       code(g.first->case_line)));
  }
  return section;
}

Section investigate(const Report& report) {
  const std::vector<Investigation> list = investigations(report);
  Section section;
  section.head = fmt::format("## To investigate\n\nPassed, but above what chance explains: {}. ",
                             investigation_summary(report, list));
  const std::vector<Assumption> blamed = blamed_assumptions(list);
  section.head += blamed.empty() ? "\n\n" : "Most likely broken (`reference/error/README.md`):\n\n";
  for (const Assumption& a : blamed) section.head += fmt::format("- {}: {}\n", code(a.key), cell(a.text));
  section.head += "\n| kernel | formats | executor | family | what | worst |\n|---|---|---|---|---|---|\n";
  const std::vector<InvestigationGroup> groups = group_investigations(list);
  constexpr std::size_t kMost = 20;
  for (std::size_t i = 0; i < std::min(groups.size(), kMost); ++i) {
    const Record& r = *groups[i].worst.record;
    const std::string place_of_worst = investigation_place(groups[i].worst);
    section.rows.push_back(fmt::format(
        "| {} | {} | {} | {} | {} | {} |\n", code(r.kernel->id), groups[i].formats, place(*r.kernel, r.executor),
        code(r.family), cell(investigation_text(groups[i])), place_of_worst.empty() ? "–" : code(place_of_worst)));
  }
  if (groups.size() > kMost) {
    section.rows.push_back(fmt::format("\n{} more in report.json.\n", groups.size() - kMost));
  }
  return section;
}

Section domain(const Report& report) {
  Section section;
  const std::vector<DomainLine> lines = domain_lines(report.result.records);
  for (const DomainLine& line : lines) {
    if (!near_a_limit(line.domain)) continue;
    const std::string outside = outside_text(line.domain), nearest = nearest_text(line.domain);
    section.rows.push_back(fmt::format("| {} | {} | {} | {} | {} |\n", code(full_id(*line.kernel)), code(line.family),
                                       line.domain.rows, outside.empty() ? "–" : cell(outside),
                                       nearest.empty() ? "–" : cell(nearest)));
  }
  section.head = fmt::format(
      "## Domain of the bounds\n\nPreconditions per row; where one fails, inf and NaN are allowed beside a value "
      "inside "
      "the bound. {} of {} kernel × family never come within a factor {:.0f} of a limit and are not listed.\n\n"
      "| kernel | family | rows | outside | nearest to failing inside |\n|---|---|--:|---|---|\n",
      lines.size() - section.rows.size(), lines.size(), 1 / kNearLimit);
  return section;
}

Section faults(const Report& report) {
  Section section;
  section.head =
      "## Seeded faults\n\nBroken on purpose. `./flashproof report --faults` asks every law.\n\n"
      "| kernel | format | executor | rejected | law | defect |\n|---|---|---|---|---|---|\n";
  for (const Record& r : per_kernel(report.result.records)) {
    if (r.kernel->form != Form::broken) continue;
    const Rejection by = rejection(r);
    section.rows.push_back(fmt::format("| {} | {} | {} | {} of {} | {} | {} |\n", code(r.kernel->id),
                                       info(r.format).name, name(r.executor), by.cases, r.cases, code(by.law),
                                       cell(defect_of(r.kernel->fault))));
  }
  return section;
}

Section contracts(const Report& report) {
  Section section;
  section.head =
      "## Contracts\n\nWhat each kernel declares, and is judged against. Refuses: a row beyond the range of an "
      "un-stabilised form is NaN, never a wrong number; it counts as outside the domain.\n\n"
      "| kernel | isolates hidden keys | deterministic | batch invariant | refuses | overflow |\n"
      "|---|---|---|---|---|---|\n";
  for (const Kernel* kernel : report.plan->kernels) {
    if (kernel->math == Math::native && report.plan->kernels.size() > report.plan->native.size()) continue;
    section.rows.push_back(fmt::format(
        "| {} | {} | {} | {} | {} | {} |\n", code(kernel->id), kernel->contract.isolates_hidden ? "yes" : "no",
        kernel->contract.deterministic ? "yes" : "no", kernel->contract.batch_invariant ? "yes" : "no",
        kernel->contract.refuses_beyond_range ? "yes" : "no",
        kernel->contract.overflow == Overflow::ieee ? "ieee" : "saturate"));
  }
  return section;
}

}  // namespace

std::string markdown_text(const Report& report) {
  std::string out;
  summary(report, out);
  std::string table;
  matrix(report, table);
  if (out.size() + table.size() < kMarkdownLimit) out += table;
  std::size_t room = kMarkdownLimit - out.size();
  // One row per kernel and format comes first; then the findings in hardened kernels, which are few, and what is left
  // goes to the published ones.
  const std::string seeded = faults(report).within(room, room / 4);
  const std::string declared = contracts(report).within(room, room / 4);
  std::string gradients;
  for (const Section& section : gradient_sections(report.gradients)) gradients += section.within(room, room / 4);
  const std::string kernels = kernel_table(report).within(room, 2 * room / 3);
  const std::string odd = investigate(report).within(room, room / 4);
  const std::string outside = domain(report).within(room, room / 3);
  const std::string hardened = findings(report, Form::hardened, "Findings in hardened kernels").within(room, room);
  const std::string published = findings(report, Form::published, "Where the published forms fail").within(room, room);
  return out + kernels + gradients + hardened + published + odd + outside + seeded + declared;
}

}  // namespace flashproof
