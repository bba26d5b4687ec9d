#include "reports/gradients/markdown.h"
#include "kernels/broken/fault.h"

#include <fmt/format.h>

#include "reports/statistics/octaves.h"
#include "reports/views/terminal/table_cells.h"

namespace flashproof {

using namespace markdown_parts;

namespace {

std::string mean_text(const Record& r) {
  UlpOctaves octaves = octaves_of(r.dq);
  octaves.merge(octaves_of(r.dk));
  octaves.merge(octaves_of(r.dv));
  return octaves.elements() == 0 ? "–" : between_text(mean_ulp(octaves));
}

}  // namespace

std::vector<Section> gradient_sections(const PlanReport& report) {
  Section kernels, findings, faults;
  kernels.head =
      "## Gradients\n\nWorst error/bound of dq, dk and dv; contract: deterministic kernels give the same bits in every "
      "run.\n\n"
      "| kernel | format | executor | cases | pass | undecided | vacuous | out of domain | unsupported | inconclusive "
      "| fail | dq "
      "| "
      "dk | dv | mostly | weights, numerator, denominator, output % | mean ulp | bias of dq, dk, dv | deterministic | "
      "worst case |\n"
      "|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|---|--:|---|---|---|\n";
  findings.head =
      "## Findings in gradients\n\n| kernel | format | executor | family | failing | worst | what | replay | case |\n"
      "|---|---|---|---|--:|---|---|---|---|\n";
  faults.head =
      "## Seeded faults in gradients\n\n| kernel | format | executor | rejected | law | defect |\n"
      "|---|---|---|---|---|---|\n";
  for (const Record& r : per_kernel(report.result.records)) {
    const std::string_view format = info(r.format).name;
    if (r.kernel->form == Form::broken) {
      const Rejection by = r.rejection();
      faults.rows.push_back(fmt::format("| {} | {} | {} | {} of {} | {} | {} |\n", code(r.kernel->id), format,
                                        name(r.executor), by.cases, r.cases, code(by.law),
                                        cell(defect_of(r.kernel->fault))));
      continue;
    }
    const auto ratio = [](const ErrorStats& s) { return s.elements == 0 ? "–" : short_number(s.max_ratio); };
    kernels.rows.push_back(fmt::format(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
        code(r.kernel->id), format, place(r.kernel->math, r.executor), r.cases, r.count(VerdictKind::pass),
        r.count(VerdictKind::undecided), r.count(VerdictKind::vacuous), r.count(VerdictKind::out_of_domain),
        r.count(VerdictKind::unsupported), r.count(VerdictKind::inconclusive), r.count(VerdictKind::fail), ratio(r.dq),
        ratio(r.dk), ratio(r.dv), r.worst ? dominating_term(r.worst->element.bound) : "–",
        r.worst ? term_shares(r.worst->element.bound) : "–", mean_text(r),
        fmt::format("{}, {}, {}", bias_text(r.dq), bias_text(r.dk), bias_text(r.dv)),
        r.kernel->contract.deterministic ? "yes" : "no", code(worst_case_line(r))));
  }
  for (const Finding& f : report.findings) {
    const Record& r = *f.record;
    if (r.kernel->form == Form::broken) continue;
    findings.rows.push_back(fmt::format("| {} | {} | {} | {} | {} of {} | {} | {} | {} | {} |\n", code(r.kernel->id),
                                        info(r.format).name, place(r.kernel->math, r.executor), code(r.family),
                                        r.count(VerdictKind::fail), r.cases,
                                        cell(to_string(Verdict{r.worst->verdict.kind, r.worst->verdict.failure, {}})),
                                        cell(r.worst->verdict.detail), code(replay_command(f)), code(f.case_line)));
  }
  return {kernels, findings, faults};
}

}  // namespace flashproof
