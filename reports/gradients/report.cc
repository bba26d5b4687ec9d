#include "reports/gradients/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/broken/fault.h"
#include "reports/views/terminal/text.h"

namespace flashproof {

std::string closing_line(const PlanReport& report) {
  if (report.result.records.empty()) return "";
  std::uint64_t hardened = 0, runs = 0;
  for (const Finding& f : report.findings) hardened += f.record->kernel->form == Form::hardened ? 1 : 0;
  for (const Record& r : report.result.records) runs += r.cases;
  return fmt::format("{}{} gradient cases, {} runs, {:.1f} s. Failing kernel x format x family: {} hardened.\n",
                     report.result.partial ? fmt::format("PARTIAL, {}\n", partial_text(report.result.failure)) : "",
                     report.plan->cases.size(), runs, report.result.timing.wall, hardened);
}

namespace {

std::string ratio_of(const ErrorStats& stats) { return stats.elements == 0 ? "-" : short_number(stats.max_ratio); }

void kernel_lines(const std::vector<Record>& rows, bool colour, std::string& out) {
  std::size_t label = 6;
  for (const Record& r : rows) label = std::max(label, r.kernel->id.size());
  out += fmt::format("{} {:<5}{:<7}{:>6}{:>6}{:>6}{:>6}{:>6}{:>6}{:>6}{:>6}{:>7}{:>7}{:>7} {:<12} {}\n",
                     pad("gradients (dq, dk, dv)", label), "fmt", "exec", "cases", "pass", "undec", "vacu", "outs",
                     "unsup", "open", "fail", "dq/B", "dk/B", "dv/B", "mostly", "worst case");
  for (const Record& r : rows) {
    if (r.kernel->form == Form::broken) continue;
    const std::uint64_t failing = r.count(VerdictKind::fail);
    const std::string fails = pad_left(std::to_string(failing), 6);
    out += fmt::format(
        "{} {:<5}{:<7}{:>6}{:>6}{:>6}{:>6}{:>6}{:>6}{:>6}{}{:>7}{:>7}{:>7} {:<12} {}\n", pad(r.kernel->id, label),
        info(r.format).name, place(r.kernel->math, r.executor), r.cases, r.count(VerdictKind::pass),
        r.count(VerdictKind::undecided), r.count(VerdictKind::vacuous), r.count(VerdictKind::out_of_domain),
        r.count(VerdictKind::unsupported), r.count(VerdictKind::inconclusive),
        failing > 0 && colour ? fmt::format("\033[31m{}\033[0m", fails) : fails, ratio_of(r.dq), ratio_of(r.dk),
        ratio_of(r.dv), r.worst ? dominating_term(r.worst->element.bound) : "-", worst_case_line(r));
  }
  out += "\n";
}

}  // namespace

std::string gradient_table(const PlanReport& report, bool colour) {
  std::string out;
  const std::vector<Record> rows = per_kernel(report.result.records);
  const auto is_broken = [](const Record& r) { return r.kernel->form == Form::broken; };
  if (!std::all_of(rows.begin(), rows.end(), is_broken)) kernel_lines(rows, colour, out);
  bool any = false;
  for (const Finding& f : report.findings) {
    const Record& r = *f.record;
    if (r.kernel->form == Form::broken) continue;
    if (!any) out += "Findings in gradients\n";
    any = true;
    out += fmt::format(
        "  {} {} {} {}: {} of {} cases, worst {}\n    {}   ({})\n", r.kernel->id, place(r.kernel->math, r.executor),
        one_line(r.family), info(r.format).name, r.count(VerdictKind::fail), r.cases,
        to_string(Verdict{r.worst->verdict.kind, r.worst->verdict.failure, {}}), replay_command(f), f.case_line);
  }
  if (any) out += "\n";
  any = false;
  for (const Record& r : rows) {
    if (r.kernel->form != Form::broken) continue;
    if (!any) out += "Seeded faults in gradients\n";
    any = true;
    const Rejection by = r.rejection();
    out += fmt::format("  {} {} {}: rejected by {} in {} of {} cases; {}\n", r.kernel->id, info(r.format).name,
                       name(r.executor), by.law, by.cases, r.cases, defect_of(r.kernel->fault));
  }
  if (any) out += "\n";
  return out;
}

}  // namespace flashproof
