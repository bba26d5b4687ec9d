#include "reports/views/terminal/report_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "reference/system/text.h"
#include "reports/views/terminal/report_causes.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

/// "softmax o 80 %, lse 88 %": of the elements of the judged kernels, families together.
std::string decided_text(const std::vector<Record>& records, Kernels judged) {
  std::string text;
  for (const ProblemKind problem : kProblemKinds) {
    Power power;
    for (const Record& r : records) {
      if (r.kernel->problem == problem && is_judged(r, judged)) power.merge(r.power);
    }
    if (power.elements() == 0) continue;
    text += fmt::format("{}{}", text.empty() ? "" : "; ", name(problem));
    bool first = true;
    for (const Part part : parts(problem)) {
      const PowerCounts& counts = power.of(part);
      if (counts.elements() == 0) continue;
      text += fmt::format("{} {} {:.0f} %", first ? "" : ",", name(part), std::floor(100 * counts.share()));
      first = false;
    }
  }
  return text;
}

struct Cells {
  std::uint64_t all = 0, pass = 0, undecided = 0, unsupported = 0, open = 0, other = 0, fail = 0;
  std::map<std::string, std::uint64_t> undecided_in;
};

Cells cells_of(const std::vector<Record>& records, Kernels judged) {
  Cells cells;
  for (const Record& r : records) {
    if (!is_judged(r, judged)) continue;
    ++cells.all;
    switch (r.verdict()) {
      case VerdictKind::pass:
        ++cells.pass;
        break;
      case VerdictKind::undecided:
        ++cells.undecided;
        ++cells.undecided_in[one_line(r.family)];
        break;
      case VerdictKind::inconclusive:
        ++cells.open;
        break;
      case VerdictKind::unsupported:
        ++cells.unsupported;
        break;
      case VerdictKind::fail:
        ++cells.fail;
        break;
      default:
        ++cells.other;
    }
  }
  return cells;
}

/// Kernels of which a case was judged, and those that took none.
struct KernelCounts {
  std::size_t judged = 0, idle = 0;
};

KernelCounts kernels_in(const std::vector<Record>& records, Kernels judged) {
  std::map<const Kernel*, bool> kernels;
  for (const Record& r : records) {
    if (is_judged(r, judged)) kernels[r.kernel] |= r.judged() > 0;
  }
  KernelCounts counts;
  for (const auto& [kernel, ran] : kernels) ++(ran ? counts.judged : counts.idle);
  return counts;
}

std::string tested_text(const Report& report, const Cells& cells) {
  std::uint64_t runs = 0, cases = 0;
  double seconds = 0;
  for (const Run& run : report.runs) {
    runs += run.kernel_runs;
    cases += run.cases;
    seconds += run.timing.wall;
  }
  return fmt::format(
      "{}, {} of a kernel on a case, {:.0f} s. Of {} cells (kernel x format x input family) {} pass, {} fail, {} are "
      "undecided, {} unsupported, {} say nothing (beyond the kernel's range, or the bound too wide){}",
      counted(cases, "case", "cases"), counted(runs, "run", "runs"), seconds, cells.all, cells.pass, cells.fail,
      cells.undecided, cells.unsupported, cells.other,
      cells.open > 0 ? fmt::format(", {} no tier of the oracle decides", cells.open) : "");
}

/// Kernels whose failures are no finding, by how they fail.
void add_expected(const Report& report, std::vector<BlockNote>& notes) {
  for (const Form form : {Form::published, Form::broken}) {
    std::set<const Kernel*> failing;
    std::map<std::string, std::uint64_t> ways;
    std::uint64_t cells = 0;
    for (const Finding& f : report.findings) {
      if (f.record->kernel->form != form) continue;
      failing.insert(f.record->kernel);
      ++ways[std::string(name(f.record->worst->verdict.failure))];
      ++cells;
    }
    if (cells == 0) continue;
    notes.push_back({"expected", form == Form::published
                                     ? fmt::format("{} as published fail in {} as their sources have them ({})",
                                                   counted(failing.size(), "kernel", "kernels"),
                                                   counted(cells, "cell", "cells"), commonest(ways, true))
                                     : fmt::format("{} rejected in {} ({})",
                                                   counted(failing.size(), "seeded fault", "seeded faults"),
                                                   counted(cells, "cell", "cells"), commonest(ways, true))});
  }
}

/// Why the report is partial; empty: it is not.
std::string why_partial(const Report& report) {
  if (report.result.partial) return partial_text(report.result.failure);
  const auto partial = std::ranges::find_if(report.runs, [](const Run& run) { return !run.partial.empty(); });
  return partial == report.runs.end() ? "" : partial->partial;
}

bool is_nightly(const Report& report) {
  return std::ranges::any_of(report.runs, [](const Run& run) { return run.environment.tier == "nightly"; });
}

std::string which_kernels(std::size_t n, Kernels judged) {
  return fmt::format("{} {}kernel{}", n, judged == Kernels::hardened ? "hardened " : "", n == 1 ? "" : "s");
}

/// Distinct kernels: a kernel's formats and executors have sentences of their own.
std::size_t kernels_of(const std::vector<Undecided>& list) {
  std::set<std::string> ids;
  for (const Undecided& one : list) ids.insert(one.kernel.substr(0, one.kernel.find(' ')));
  return ids.size();
}

std::size_t failing_in(const Report& report, Kernels judged) {
  std::set<std::string> ids;
  for (const Record& r : report.result.records) {
    if (is_judged(r, judged) && r.count(VerdictKind::fail) > 0) ids.insert(std::string(r.kernel->id));
  }
  for (const Undecided& one : report.narrow) ids.insert(one.kernel.substr(0, one.kernel.find(' ')));
  return ids.size();
}

void set_outcome(const Report& report, Kernels judged, VerdictBlock& block) {
  const KernelCounts kernels = kernels_in(report.result.records, judged);
  const std::string all = which_kernels(kernels.judged, judged);
  const std::size_t failing = failing_in(report, judged);
  const Open open = open_of(report.result.records);
  if (failing > 0) {
    block.outcome = BlockOutcome::fail;
    block.sentence = fmt::format("{}, in {} of {}",
                                 counted(block.causes.size(), "cause of failure", "causes of failure"), failing, all);
  } else if (is_nightly(report) && (open.elements > 0 || open.runs > 0)) {
    block.outcome = BlockOutcome::fail;
    block.sentence = "what no tier of the oracle decided is a finding at night";
  } else if (const std::string why = why_partial(report); !why.empty()) {
    block.outcome = BlockOutcome::partial;
    block.sentence = why;
  } else if (!report.undecided.empty()) {
    block.outcome = BlockOutcome::undecided;
    block.sentence = fmt::format("nothing failed, but of {} of {} too little was decided to call it a pass",
                                 kernels_of(report.undecided), which_kernels(kernels.judged + kernels.idle, judged));
  } else if (kernels.judged == 0) {
    block.outcome = BlockOutcome::none;
    block.sentence = kernels.idle > 0 ? "no case of a kernel that has to be right was judged"
                                      : "only published kernels and seeded faults were run, which may fail";
  } else if (std::ranges::none_of(report.result.records, [&](const Record& r) {
               return is_judged(r, judged) && r.count(VerdictKind::pass) > 0;
             })) {
    block.outcome = BlockOutcome::undecided;
    block.sentence = fmt::format("nothing failed, and no case of {} passed", all);
  } else {
    block.sentence = fmt::format("{} {} right within {}", all, kernels.judged == 1 ? "is" : "are",
                                 kernels.judged == 1 ? "its bound" : "their bounds");
  }
}

}  // namespace

VerdictBlock report_block(const Report& report, Kernels judged) {
  const std::vector<Record>& records = report.result.records;
  VerdictBlock block;
  for (const Undecided& one : report.narrow)
    block.causes.push_back({one.kernel + ": its declaration. " + one.why, "", ""});
  for (CauseEntry& entry : report_causes(report, judged)) block.causes.push_back(std::move(entry));
  set_outcome(report, judged, block);
  const Cells cells = cells_of(records, judged);
  block.tested.push_back({"tested", tested_text(report, cells)});
  if (const std::string text = decided_text(records, judged); !text.empty()) block.tested.push_back({"decided", text});
  if (const std::string why = why_partial(report); !why.empty() && block.outcome != BlockOutcome::partial)
    block.notes.push_back({"partial", why});
  for (const Undecided& one : report.undecided) block.notes.push_back({"undecided", one.kernel + ": " + one.why});
  if (const std::size_t idle = kernels_in(records, judged).idle; idle > 0) {
    block.notes.push_back(
        {"not tested", fmt::format("{} took no case of these families", which_kernels(idle, judged))});
  }
  if (cells.undecided > 0) {
    block.notes.push_back(
        {"open", fmt::format("{} tested too little to pass: {}", counted(cells.undecided, "cell", "cells"),
                             commonest(cells.undecided_in, true))});
  }
  if (judged == Kernels::hardened) add_expected(report, block.notes);
  if (const auto list = investigations(report); !list.empty())
    block.notes.push_back(
        {"look at", "passed, but above what chance explains: " + investigation_summary(report, list)});
  if (const std::string line = open_line(records, is_nightly(report)); !line.empty())
    block.notes.push_back({"open", line});
  return block;
}

}  // namespace flashproof
