// The comparison for a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/compare/outcome.h"
#include "reports/compare/toml_reader.h"
#include "reports/views/terminal/text.h"

namespace flashproof::compare {
namespace {

std::string title(const Key& key) {
  return fmt::format("{} {} {}{} {}", key.kernel, key.format, key.executor, key.math == "det" ? "" : " " + key.math,
                     key.family);
}

std::string more(std::size_t all) {
  return all <= kShown ? "" : fmt::format("  and {} more (--json FILE has them all)\n", all - kShown);
}

void witness(const RecordOf& r, std::string_view side, std::string& out) {
  if (const WorstCase* w = r.witness()) out += fmt::format("    {} {}  {}\n", side, r.case_line, witness_text(*w));
}

void replay(const RecordChange& r, std::string& out) {
  const std::string line = r.replay();
  if (!line.empty()) out += fmt::format("    {}\n", line);
}

void witnesses(const RecordChange& r, std::string& out) {
  witness(*r.base, "BASE", out);
  witness(*r.head, "HEAD", out);
  replay(r, out);
}

void figures(const RecordChange& r, std::string& out) {
  for (const auto& [tensor, base] : r.base->figures) {
    const auto head = r.head->figures.find(tensor);
    if (head != r.head->figures.end()) out += fmt::format("    {}\n", tensor_line(tensor, base, head->second));
  }
}

void classes(const Comparison& c, std::string& out) {
  const auto list = c.by_class();
  if (list.empty()) return;
  out += "\nCLASS CHANGES, the most harmful first\n";
  for (std::size_t i = 0; i < std::min(list.size(), kShown); ++i) {
    const RecordChange& r = *list[i];
    out += fmt::format("  {} {}: {}, {} of {} cases ({})\n", r.classes.worse ? "WORSE " : "better", title(r.key()),
                       to_string(r.classes), r.classes.cases, r.head->record->cases, moves_text(r.classes));
    out += fmt::format("    error/bound {}\n", change_text(r.base->max_ratio, r.head->max_ratio));
    figures(r, out);
    witnesses(r, out);
  }
  out += more(list.size());
}

void pairs(const Paired& paired, std::string& out) {
  const auto changes = paired.class_changes();
  out += fmt::format("\nPAIRED, {} cases, each run by both\n", paired.cases.size());
  for (const PairedGroup& g : paired.groups) {
    const std::string where =
        fmt::format("{} {}{}", g.key.format, g.key.executor, g.key.math == "det" ? "" : " " + g.key.math);
    for (std::size_t i = 0; i < paired.metrics.size(); ++i) {
      out += fmt::format("  {}: {} {}\n", where, paired.metrics[i], sign_text(g.tests[i]));
    }
  }
  out += fmt::format(
      "  Sign tests, exact and two-sided: were it a coin's toss which of the two errs more, a split this uneven came "
      "with\n  probability p; p is multiplied by the {} tests made. Classes differ in {} cases.\n",
      paired.metrics.size() * paired.groups.size(), changes.size());
  for (std::size_t i = 0; i < std::min(changes.size(), kShown); ++i) {
    const PairedCase& one = *changes[i];
    out += fmt::format("  {} {} -> {}: {} {}{}\n    {}\n", one.classes.worse ? "WORSE " : "better", name(one.base),
                       name(one.head), one.case_line, one.key.executor, one.key.math == "det" ? "" : " " + one.key.math,
                       paired.replay(one));
  }
  out += more(changes.size());
}

void errors(const Comparison& c, std::string& out) {
  const auto list = c.by_error();
  if (list.empty()) return;
  out += "\nERROR CHANGES, worse first (class stands)\n";
  for (std::size_t i = 0; i < std::min(list.size(), kShown); ++i) {
    const RecordChange& r = *list[i];
    out += fmt::format("  {} {}: error/bound {}\n", word(r.error), title(r.key()),
                       change_text(r.base->max_ratio, r.head->max_ratio));
    figures(r, out);
    witnesses(r, out);
  }
  out += more(list.size());
}

void kernels(const Comparison& c, std::string& out) {
  std::vector<const KernelChange*> list;
  for (const KernelChange& k : c.kernels) {
    if (k.changed > 0) list.push_back(&k);
  }
  if (list.empty()) return;
  out += "\nKERNELS that differ, all families together\n";
  for (std::size_t i = 0; i < std::min(list.size(), kShown); ++i) {
    const KernelChange& k = *list[i];
    out += fmt::format("  {} {} {}{}: {} of {} families differ{}; error/bound {}\n", k.key.kernel, k.key.format,
                       k.key.executor, k.key.math == "det" ? "" : " " + k.key.math, k.changed, k.families,
                       k.same_cases ? fmt::format(", {}", k.classes.worse    ? "class worse"
                                                          : k.classes.better ? "class better"
                                                                             : word(k.error))
                                    : ", other cases",
                       change_text(k.base.max_ratio, k.head.max_ratio));
    for (const auto& [tensor, base] : k.base.figures) {
      const auto head = k.head.figures.find(tensor);
      if (head != k.head.figures.end()) out += fmt::format("    {}\n", tensor_line(tensor, base, head->second));
    }
  }
  out += more(list.size());
}

void other_cases(const Comparison& c, std::string& out) {
  if (c.other_cases == 0) return;
  std::string list;
  for (const RecordChange& r : c.records) {
    if (r.same_cases || r.more_failures_p >= kLevel) continue;
    list += fmt::format("  {}: {} and {} cases, p = {} ({})\n", title(r.key()), r.base->record->cases,
                        r.head->record->cases, short_number(r.more_failures_p),
                        counts_text(r.base->classes, r.head->classes));
  }
  out += "\nFAILS MORE OR LESS OFTEN, on other cases\n" + (list.empty() ? "  no change shown\n" : list);
}

void keys(std::string_view head, const std::vector<Key>& list, std::string& out) {
  if (list.empty()) return;
  out += fmt::format("\n{}\n", head);
  for (std::size_t i = 0; i < std::min(list.size(), kShown); ++i) out += "  " + title(list[i]) + "\n";
  out += more(list.size());
}

void speeds(const Speed& speed, std::string& out) {
  out += "\nSPEED\n";
  std::size_t width = 0;
  for (const SpeedChange& s : speed.changes) width = std::max(width, s.name.size());
  for (const SpeedChange& s : speed.changes) {
    out += fmt::format("  {}  {:.3g} s -> {:.3g} s  {}  ({}{})\n", pad(s.name, width), s.base_median, s.head_median,
                       s.text(),
                       s.base_count == s.head_count ? fmt::format("{}", s.base_count)
                                                    : fmt::format("{} and {}", s.base_count, s.head_count),
                       s.paired ? " rounds" : " repetitions");
  }
  for (const std::string& name : speed.only_base) out += fmt::format("  {}  only in BASE\n", name);
  for (const std::string& name : speed.only_head) out += fmt::format("  {}  only in HEAD\n", name);
  for (const std::string& name : speed.not_run) out += fmt::format("  not run: {}\n", name);
  out += fmt::format("  {}\n", speed.how());
}

void gate_text(const GateResult& gate, std::chrono::year_month_day today, std::string& out) {
  out += fmt::format("\nGATE {}: {} limits checked\n", gate.passes() ? "passes" : "FAILS", gate.checked);
  for (const Reason& r : gate.reasons) {
    if (r.waiver != nullptr) {
      out += fmt::format("  waived until {}: {} ({})\n", to_string(r.waiver->expires), r.id, r.waiver->reason);
      continue;
    }
    out += fmt::format("  FAIL {}\n       {}\n", r.id, r.text);
    if (!r.replay.empty()) out += fmt::format("       {}\n", r.replay);
  }
  for (const Waiver* w : gate.expired) {
    out += fmt::format(
        "  FAIL {}: the waiver of {} expired on {} (today {}); legal: a later date with a reason, or no waiver\n",
        w->place, one_line(w->id), to_string(w->expires), to_string(today));
  }
  for (const Waiver* w : gate.unused)
    out += fmt::format("  note {}: the waiver of {} matches no reason\n", w->place, one_line(w->id));
}

}  // namespace

std::string text_of(const Outcome& o) {
  const Comparison& c = o.comparison;
  std::string out = fmt::format("BASE {}\nHEAD {}\n", o.base_label, o.head_label);
  for (const std::string& caveat : caveats(o)) out += caveat + "\n";
  if (c.base != nullptr) out += summary_line(o) + "\n";
  classes(c, out);
  if (o.paired) pairs(*o.paired, out);
  errors(c, out);
  kernels(c, out);
  other_cases(c, out);
  keys("ONLY IN BASE", c.only_base, out);
  keys("ONLY IN HEAD", c.only_head, out);
  if (o.speed) speeds(*o.speed, out);
  if (o.gate) gate_text(*o.gate, o.today, out);
  return out;
}

}  // namespace flashproof::compare
