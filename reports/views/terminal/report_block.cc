#include "reports/views/terminal/report_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "reference/problem/text.h"
#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

constexpr std::size_t kMostNames = 4;  // of families or kernels in one line

/// The first few of a list, the commonest first: "mask_row 12, huge 9, 3 others".
std::string commonest(const std::map<std::string, std::uint64_t>& counts, bool with_counts) {
  std::vector<std::pair<std::string, std::uint64_t>> list(counts.begin(), counts.end());
  std::ranges::stable_sort(list, std::greater(), &std::pair<std::string, std::uint64_t>::second);
  std::string text;
  for (std::size_t i = 0; i < std::min(list.size(), kMostNames); ++i) {
    text +=
        fmt::format("{}{}{}", i == 0 ? "" : ", ", list[i].first, with_counts ? fmt::format(" {}", list[i].second) : "");
  }
  if (list.size() > kMostNames) text += fmt::format(", {} more", list.size() - kMostNames);
  return text;
}

bool is_judged(const Record& record, Kernels kernels) {
  return kernels == Kernels::all || record.kernel->form == Form::hardened;
}

/// One kernel that fails in one way.
struct FailingKernel {
  const Kernel* kernel = nullptr;
  Failure failure = Failure::none;
  std::vector<const Finding*> findings;
};

std::vector<FailingKernel> failing_kernels(const Report& report, Kernels judged) {
  std::vector<FailingKernel> list;
  for (const Finding& f : report.findings) {
    if (!is_judged(*f.record, judged)) continue;
    const Failure failure = f.record->worst->verdict.failure;
    auto at = std::ranges::find_if(
        list, [&](const FailingKernel& one) { return one.kernel == f.record->kernel && one.failure == failure; });
    if (at == list.end()) at = list.insert(list.end(), {f.record->kernel, failure, {}});
    at->findings.push_back(&f);
  }
  return list;
}

/// Elements of the tensors of a finding's case; the largest number where the case cannot be made any more.
std::uint64_t size_of(const Finding& finding) {
  constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
  const Record& record = *finding.record;
  std::uint64_t elements = kUnknown;
  for (const Part part : parts(record.kernel->problem)) {
    if (record.worst && record.worst->element.tensor == name(part)) {
      elements = record[part].elements / std::max<std::uint64_t>(1, record.judged());
    }
  }
  return elements;
}

CauseEntry cause_of(const FailingKernel& failing) {
  std::map<std::string, std::uint64_t> families;
  std::set<std::string> formats;
  std::uint64_t fails = 0, cases = 0;
  double ratio = -1;
  const Finding* smallest = failing.findings.front();
  for (const Finding* f : failing.findings) {
    const Record& r = *f->record;
    ++families[one_line(r.family)];
    formats.emplace(info(r.format).name);
    fails += r.count(VerdictKind::fail);
    cases += r.cases;
    if (worse_ratio(r.max_ratio(), ratio)) ratio = r.max_ratio();
    if (size_of(*f) < size_of(*smallest)) smallest = f;
  }
  CauseEntry cause;
  cause.sentence = fmt::format("{} {}: {}", full_id(*failing.kernel), name(failing.findings.front()->record->executor),
                               in_words(failing.failure));
  cause.extent =
      fmt::format("{} of {} in {} input {} ({}), {}; worst error/bound {}", fails, counted(cases, "case", "cases"),
                  families.size(), families.size() == 1 ? "family" : "families", commonest(families, false),
                  fmt::join(formats, " "), short_number(ratio));
  cause.replay = replay_command(*smallest);
  return cause;
}

/// "90 of 140 cases fail, in 14 input families": of a whole kernel.
std::string failing_text(const Report& report, const Kernel* kernel) {
  std::uint64_t fails = 0, cases = 0;
  std::set<std::string> families;
  for (const Record& r : report.result.records) {
    if (r.kernel != kernel) continue;
    cases += r.cases;
    fails += r.count(VerdictKind::fail);
    if (r.count(VerdictKind::fail) > 0) families.insert(r.family);
  }
  return fmt::format("{} of {} fail, in {}", fails, counted(cases, "case", "cases"),
                     counted(families.size(), "input family", "input families"));
}

/// One cause, one entry: causes of the same words together, certain if one of them is.
std::vector<Cause> together(const std::vector<Cause>& causes) {
  std::vector<Cause> list;
  for (const Cause& cause : causes) {
    const auto same = std::ranges::find(list, cause.sentence, &Cause::sentence);
    if (same == list.end()) {
      list.push_back(cause);
      continue;
    }
    same->cases += cause.cases;
    same->elements += cause.elements;
    same->confident |= cause.confident;
  }
  return list;
}

/// What a diagnosis found of one kernel: an entry for every certain cause, and one for what has none.
void add_causes(const Report& report, const Kernel& kernel, const std::vector<Cause>& causes,
                std::vector<CauseEntry>& out) {
  std::string open, witness;
  std::uint64_t open_cases = 0;
  const auto replay = [&](const std::string& line) {
    return line.empty() ? "" : replay_command(line, Executor::cpu, Math::det) + fmt::format(" --kernel {}", kernel.id);
  };
  for (const Cause& cause : together(causes)) {
    std::string sentence = cause.sentence + (cause.condition.empty() ? "" : "; " + cause.condition);
    if (!cause.confident) {
      open += (open.empty() ? "" : "; ") + sentence;
      open_cases += cause.cases;
      if (witness.empty()) witness = cause.witness;
      continue;
    }
    if (!cause.others.empty()) sentence += "; or, what these cases do not tell apart: " + cause.other_sentence;
    out.push_back({fmt::format("{}: {}", full_id(kernel), sentence),
                   fmt::format("explains {} of {} that were looked at{}; {}", cause.cases,
                               counted(cause.failing_cases, "failing case", "failing cases"),
                               cause.elements > 0 ? fmt::format(" ({} elements)", cause.elements) : "",
                               failing_text(report, &kernel)),
                   replay(cause.witness)});
  }
  if (open.empty()) return;
  out.push_back({fmt::format("{}: no cause is certain: {}", full_id(kernel), open),
                 fmt::format("{} that were looked at; {}", counted(open_cases, "failing case", "failing cases"),
                             failing_text(report, &kernel)),
                 replay(witness)});
}

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
  std::uint64_t all = 0, pass = 0, undecided = 0, unsupported = 0, other = 0, fail = 0;
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

std::size_t kernels_in(const std::vector<Record>& records, Kernels judged) {
  std::set<const Kernel*> kernels;
  for (const Record& r : records) {
    if (is_judged(r, judged)) kernels.insert(r.kernel);
  }
  return kernels.size();
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
      "undecided, {} unsupported, {} say nothing (beyond the kernel's range, or the bound too wide)",
      counted(cases, "case", "cases"), counted(runs, "run", "runs"), seconds, cells.all, cells.pass, cells.fail,
      cells.undecided, cells.unsupported, cells.other);
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
    notes.push_back(
        {"expected",
         form == Form::published
             ? fmt::format("{} as published fail in {} as their sources have them ({}); fixed forms pass",
                           counted(failing.size(), "kernel", "kernels"), counted(cells, "cell", "cells"),
                           commonest(ways, true))
             : fmt::format("{} rejected in {} ({})", counted(failing.size(), "seeded fault", "seeded faults"),
                           counted(cells, "cell", "cells"), commonest(ways, true))});
  }
}

struct Counted {
  std::size_t causes = 0, failing = 0, undecided = 0;  // failing, undecided: kernels
};

std::string sentence_of(const Report& report, const BlockRequest& request, BlockOutcome outcome, const Counted& n) {
  const std::size_t kernels = kernels_in(report.result.records, request.judged);
  const std::string which = fmt::format(
      "{} {}kernel{}", kernels, request.judged == Kernels::hardened ? "hardened " : "", kernels == 1 ? "" : "s");
  switch (outcome) {
    case BlockOutcome::partial:
      return partial_text(report.result.failure);
    case BlockOutcome::fail:
      if (n.causes == 0) return "what no tier of the oracle decided is a finding at night";
      return fmt::format("{} of failure, in {} of {}", counted(n.causes, "cause", "causes"), n.failing, which);
    case BlockOutcome::undecided:
      return fmt::format("nothing failed, but of {} of {} too little was decided to call it a pass", n.undecided,
                         which);
    case BlockOutcome::none:
      return "only published kernels and seeded faults were run, which may fail";
    case BlockOutcome::pass:
      break;
  }
  return fmt::format("{} {} right within {}", which, kernels == 1 ? "is" : "are",
                     kernels == 1 ? "its bound" : "their bounds");
}

}  // namespace

VerdictBlock report_block(const Report& report, const BlockRequest& request, const std::vector<Undecided>& undecided,
                          const std::vector<Undecided>& narrow) {
  const std::vector<Record>& records = report.result.records;
  VerdictBlock block;
  for (const Undecided& one : narrow) block.causes.push_back({one.kernel + ": its declaration. " + one.why, "", ""});
  const std::vector<FailingKernel> failing = failing_kernels(report, request.judged);
  std::set<const Kernel*> told;
  for (const FailingKernel& one : failing) {
    const auto known = report.causes.find(full_id(*one.kernel));
    // A crash, or a fault that the executor found, is not run again.
    const bool diagnosed = known != report.causes.end() && !known->second.empty() && one.failure != Failure::error;
    if (!diagnosed) {
      block.causes.push_back(cause_of(one));
    } else if (told.insert(one.kernel).second) {
      add_causes(report, *one.kernel, known->second, block.causes);
    }
  }
  const bool partial = report.result.partial;
  const Open open = open_of(records);
  const bool open_fails = request.nightly && (open.elements > 0 || open.runs > 0);
  block.outcome = !block.causes.empty() || open_fails        ? BlockOutcome::fail
                  : partial                                  ? BlockOutcome::partial
                  : !undecided.empty()                       ? BlockOutcome::undecided
                  : kernels_in(records, request.judged) == 0 ? BlockOutcome::none
                                                             : BlockOutcome::pass;
  std::set<std::string> failing_ids;
  for (const FailingKernel& one : failing) failing_ids.insert(full_id(*one.kernel));
  for (const Undecided& one : narrow) failing_ids.insert(one.kernel.substr(0, one.kernel.find(' ')));
  block.sentence =
      sentence_of(report, request, block.outcome, {block.causes.size(), failing_ids.size(), undecided.size()});
  const Cells cells = cells_of(records, request.judged);
  block.tested.push_back({"tested", tested_text(report, cells)});
  if (const std::string text = decided_text(records, request.judged); !text.empty())
    block.tested.push_back({"decided", text});
  if (partial && block.outcome != BlockOutcome::partial)
    block.notes.push_back({"partial", partial_text(report.result.failure)});
  for (const Undecided& one : undecided) block.notes.push_back({"undecided", one.kernel + ": " + one.why});
  if (cells.undecided > 0) {
    block.notes.push_back(
        {"open", fmt::format("{} tested too little to pass: {}", counted(cells.undecided, "cell", "cells"),
                             commonest(cells.undecided_in, true))});
  }
  if (request.judged == Kernels::hardened) add_expected(report, block.notes);
  if (const auto list = investigations(report); !list.empty())
    block.notes.push_back(
        {"look at", "passed, but above what chance explains: " + investigation_summary(report, list)});
  if (const std::string line = open_line(records, request.nightly); !line.empty())
    block.notes.push_back({"open", line});
  return block;
}

}  // namespace flashproof
