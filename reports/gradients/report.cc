#include "reports/gradients/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/broken/fault.h"
#include "kernels/simt/schedule.h"
#include "reference/problem/error.h"
#include "reports/record/report.h"
#include "reports/views/terminal/text.h"

namespace flashproof {

namespace fs = std::filesystem;

std::vector<GradientFinding> write_findings(const GradientPlan& plan, std::vector<GradientRecord>& records,
                                            const fs::path& out) {
  const fs::path folder = out / "witnesses";
  for (GradientRecord& record : records) {
    if (record.verdict() != VerdictKind::fail) continue;
    BackwardWitness witness;
    try {
      witness.content = make_gradient_case(case_of(record, record.worst->seed));
    } catch (const UsageError&) {
      continue;
    }
    witness.notes = {{"kernel", std::string(record.kernel->id)},
                     {"executor", std::string(name(record.executor))},
                     {"math", std::string(name(record.kernel->math))},
                     {"schedule", simt::to_string(plan.schedule)},
                     {"verdict", to_string(Verdict{record.worst->verdict.kind, record.worst->verdict.failure, {}})}};
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw InfrastructureError(fmt::format("{}: {}", one_line(folder.string()), error.message()));
    const std::string file =
        witness_name(record.kernel->id, record.format, record.family, record.executor, record.kernel->math);
    write_backward_witness(folder / file, witness);
    record.worst->file = "witnesses/" + file;
  }
  std::vector<GradientFinding> findings = findings_of(records);
  for (GradientFinding& f : findings) {
    if (!f.record->worst->file.empty()) f.witness = (out / f.record->worst->file).string();
  }
  return findings;
}

std::vector<GradientFinding> findings_of(const std::vector<GradientRecord>& records) {
  std::vector<GradientFinding> findings;
  for (const GradientRecord& record : records) {
    if (record.verdict() == VerdictKind::fail) {
      findings.push_back({&record, worst_case_line(record), ""});
    }
  }
  return findings;
}

std::string replay_command(const GradientFinding& finding) {
  const GradientRecord& r = *finding.record;
  return finding.witness.empty() ? replay_command(r) : replay_command(finding.witness, r.executor, r.kernel->math);
}

std::string replay_command(const GradientRecord& record) {
  if (!record.worst) return "";
  return replay_command(worst_case_line(record), record.executor, record.kernel->math) +
         fmt::format(" --kernel {}", record.kernel->id);
}

bool has_finding(const std::vector<GradientRecord>& records, bool nightly) {
  return std::any_of(records.begin(), records.end(), [&](const GradientRecord& r) {
    const bool failed = r.kernel->form == Form::hardened && r.count(VerdictKind::fail) > 0;
    return failed || (nightly && r.count(VerdictKind::inconclusive) > 0);
  });
}

std::string closing_line(const GradientReport& report) {
  if (report.result.records.empty()) return "";
  std::uint64_t hardened = 0, runs = 0;
  for (const GradientFinding& f : report.findings) hardened += f.record->kernel->form == Form::hardened ? 1 : 0;
  for (const GradientRecord& r : report.result.records) runs += r.cases;
  return fmt::format("{}{} gradient cases, {} runs, {:.1f} s. Failing kernel x format x family: {} hardened.\n",
                     report.result.partial ? fmt::format("PARTIAL, {}\n", partial_text(report.result.failure)) : "",
                     report.plan->cases.size(), runs, report.result.seconds, hardened);
}

namespace {

std::string ratio_of(const ErrorStats& stats) { return stats.elements == 0 ? "-" : short_number(stats.max_ratio); }

void kernel_lines(const std::vector<GradientRecord>& rows, bool colour, std::string& out) {
  std::size_t label = 6;
  for (const GradientRecord& r : rows) label = std::max(label, r.kernel->id.size());
  out += fmt::format("{} {:<5}{:<7}{:>6}{:>6}{:>6}{:>6}{:>6}{:>6}{:>6}{:>6}{:>7}{:>7}{:>7} {:<12} {}\n",
                     pad("gradients (dq, dk, dv)", label), "fmt", "exec", "cases", "pass", "undec", "vacu", "outs",
                     "unsup", "open", "fail", "dq/B", "dk/B", "dv/B", "mostly", "worst case");
  for (const GradientRecord& r : rows) {
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

std::string gradient_table(const GradientReport& report, bool colour) {
  std::string out;
  const std::vector<GradientRecord> rows = per_kernel(report.result.records);
  const auto is_broken = [](const GradientRecord& r) { return r.kernel->form == Form::broken; };
  if (!std::all_of(rows.begin(), rows.end(), is_broken)) kernel_lines(rows, colour, out);
  bool any = false;
  for (const GradientFinding& f : report.findings) {
    const GradientRecord& r = *f.record;
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
  for (const GradientRecord& r : rows) {
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
