// The report as GitHub-flavoured Markdown, short enough to be shown: tables are cut where the room ends.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/broken/fault.h"
#include "reports/record/report.h"
#include "reports/run/attachments.h"
#include "reports/statistics/octaves.h"
#include "reports/views/markdown/markdown_matrix.h"
#include "reports/views/markdown/markdown_parts.h"
#include "reports/views/terminal/table_cells.h"
#include "reports/views/terminal/text.h"

namespace flashproof {

using namespace markdown_parts;

namespace {

constexpr std::size_t kMostRuns = 4;  // of a merged report, which may have many
constexpr std::size_t kFact = 300;    // bytes of one fact about a run: together they leave room for the tables

void run_lines(const Run& run, std::string& out) {
  const Environment& e = run.environment;
  if (!run.partial.empty()) out += fmt::format("**Partial:** {}\n\n", cell(shortened(run.partial, kFact)));
  out +=
      fmt::format("- {} cases, {} runs of a kernel on a case, {:.0f} s\n", run.cases, run.kernel_runs, run.timing.wall);
  out += fmt::format("- date {}, tier {}, seed {}, executors {}, math {}{}\n", cell(shortened(e.date, kFact)),
                     cell(e.tier), e.seed, cell(e.executors), cell(e.math),
                     e.profile.empty() ? "" : ", profile " + cell(shortened(e.profile, kFact)));
  out += fmt::format("- command {}\n- revision {}\n- compiler {}, flags {}\n", code(shortened(e.command_line)),
                     code(shortened(e.revision, kFact)), cell(shortened(e.compiler, kFact)),
                     code(shortened(e.flags, kFact)));
  if (!e.cuda_compiler.empty()) out += fmt::format("- CUDA compiler {}\n", cell(shortened(e.cuda_compiler, kFact)));
  out += fmt::format("- CPU {}\n- GPU {}\n\n", cell(shortened(e.cpu, kFact)), cell(shortened(e.gpu, kFact)));
}

/// The verdict's block; how it went in one sentence; what it ran on comes after the matrix.
void summary(const Report& report, std::string& out) {
  std::uint64_t runs = 0, cases = 0, failing[3] = {};
  for (const Run& run : report.runs) {
    runs += run.kernel_runs;
    cases += run.cases;
  }
  for (const Finding& f : report.findings) ++failing[static_cast<std::size_t>(f.record->kernel->form)];
  out += "# flashproof report\n\n";
  if (!report.block.sentence.empty()) out += fenced(report.block);
  std::size_t partial = 0;
  for (const Run& run : report.runs) {
    if (!run.partial.empty() && ++partial <= kMostRuns)
      out += fmt::format("**Partial:** {}\n\n", cell(shortened(run.partial, kFact)));
  }
  if (partial > kMostRuns) out += fmt::format("**{} partial runs in all.**\n\n", partial);
  out += fmt::format(
      "{} cases, {} runs of a kernel on a case. Failing kernel × format × family: {} hardened, {} published.\n\n",
      cases, runs, failing[static_cast<std::size_t>(Form::hardened)],
      failing[static_cast<std::size_t>(Form::published)]);
  if (const std::string refined = refined_line(report.result.records); !refined.empty()) out += refined + "\n";
  if (!report.ledger.empty()) out += cell(shortened(report.ledger.substr(0, report.ledger.find('\n')))) + "\n\n";
}

/// Where it ran: the first few runs.
void provenance(const Report& report, std::string& out) {
  out += report.runs.size() > 1 ? fmt::format("## {} runs\n\n", report.runs.size()) : "## The run\n\n";
  for (std::size_t i = 0; i < std::min(kMostRuns, report.runs.size()); ++i) run_lines(report.runs[i], out);
  if (report.runs.size() > kMostRuns) out += fmt::format("{} more in report.json.\n\n", report.runs.size() - kMostRuns);
}

Section kernel_table(const Report& report) {
  Section section;
  section.head =
      "## Kernels\n\n| kernel | form | format | executor | cases | pass | undecided | vacuous | out of domain | "
      "unsupported | "
      "inconclusive | fail | max ulp | mean ulp | rmse | bias | error/bound | mostly | weights, numerator, "
      "denominator, output % | "
      "lse max abs | worst case |\n"
      "|---|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|---|---|--:|---|\n";
  for (const Record& r : per_kernel(report.result.records)) {
    if (r.kernel->form == Form::broken) continue;
    const auto n = [&](VerdictKind kind) { return count_of(r, kind); };
    const ErrorStats values = r.values();
    const bool measured = values.finite_elements > 0;
    section.rows.push_back(fmt::format(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
        code(r.kernel->id), name(r.kernel->form), info(r.format).name, place(*r.kernel, r.executor), r.cases,
        n(VerdictKind::pass), n(VerdictKind::undecided), n(VerdictKind::vacuous), n(VerdictKind::out_of_domain),
        n(VerdictKind::unsupported), n(VerdictKind::inconclusive), n(VerdictKind::fail),
        measured ? short_number(values.max_ulp) : "–", measured ? between_text(mean_ulp(octaves_of(values))) : "–",
        measured ? short_number(values.rmse()) : "–", bias_text(values), ratios_text(r, r.kernel->problem),
        r.worst ? dominating_term(r.worst->element.bound) : "–", r.worst ? term_shares(r.worst->element.bound) : "–",
        r.lse.finite_elements > 0 ? short_number(r.lse.max_abs) : "–", code(worst_case_line(r))));
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
    const Rejection by = r.rejection();
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
  if (report.plan == nullptr) return section;  // report.json does not have them
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
  std::string where;
  provenance(report, where);
  const std::size_t fixed = out.size() + where.size() + kFold.size() + kFoldEnd.size();
  std::size_t room = kMarkdownLimit - std::min(kMarkdownLimit, fixed);
  // The matrix comes first and takes at most two thirds; of what is left, one row per kernel and format comes first; then the
  // findings in hardened kernels, which are few, and what remains goes to the published ones.
  out += std::string(kFold) + markdown_matrix(report, room, 2 * room / 3) + where;
  const std::string seeded = faults(report).within(room, room / 4) + fault_table(report).within(room, room / 4);
  const std::string declared = contracts(report).within(room, room / 4);
  const std::string kernels = kernel_table(report).within(room, room / 2);
  const std::string odd = investigate(report).within(room, room / 4);
  const std::string outside = domain(report).within(room, room / 3);
  const std::string speed = bench_table(report).within(room, room / 4);
  const std::string hardened = findings(report, Form::hardened, "Findings in hardened kernels").within(room, room);
  const std::string published = findings(report, Form::published, "Where the published forms fail").within(room, room);
  return out + kernels + hardened + published + odd + outside + seeded + speed + declared + std::string(kFoldEnd);
}

}  // namespace flashproof
