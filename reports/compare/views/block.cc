// The comparison as the block that report and check end in, too: one entry per kernel that got worse, better or other.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "reports/compare/outcome.h"
#include "reports/compare/toml_reader.h"
#include "reports/views/terminal/text.h"

namespace flashproof::compare {
namespace {

/// How a kernel changed, over its formats, executors and families. The most harmful first.
enum class Change : std::uint8_t { class_worse, error_worse, class_better, error_better, other };

Change change_of(const RecordChange& r) {
  if (r.classes.worse) return Change::class_worse;
  if (r.classes.better) return Change::class_better;
  if (r.error == Direction::worse) return Change::error_worse;
  return r.error == Direction::better ? Change::error_better : Change::other;
}

struct KernelEntry {
  std::string kernel;
  Change change{};
  std::vector<const RecordChange*> records;  // that changed so, the most harmful first
  std::size_t of = 0;                        // records of the kernel in both
};

/// What stands first in its entry and makes the order of entries.
double weight(const RecordChange& r) { return growth(errors_of(*r.base), errors_of(*r.head)); }

bool more_harm(const RecordChange* a, const RecordChange* b) {
  if (a->classes.any() && b->classes.any()) return harms_more(a->classes, b->classes);
  return weight(*a) > weight(*b);
}

std::vector<KernelEntry> entries_of(const Comparison& c) {
  std::vector<KernelEntry> list;
  for (const RecordChange& r : c.records) {
    if (!r.differs || !r.same_cases) continue;
    const Change change = change_of(r);
    auto at = std::ranges::find_if(
        list, [&](const KernelEntry& e) { return e.kernel == r.key().kernel && e.change == change; });
    if (at == list.end()) at = list.insert(list.end(), {.kernel = r.key().kernel, .change = change, .records = {}});
    at->records.push_back(&r);
  }
  for (KernelEntry& e : list) {
    std::ranges::stable_sort(e.records, more_harm);
    e.of = static_cast<std::size_t>(
        std::ranges::count_if(c.records, [&](const RecordChange& r) { return r.key().kernel == e.kernel; }));
  }
  std::ranges::stable_sort(list, [](const KernelEntry& a, const KernelEntry& b) {
    return a.change != b.change ? a.change < b.change : more_harm(a.records.front(), b.records.front());
  });
  return list;
}

bool known(double figure) { return figure >= 0; }

/// "worst error 0.61 -> 0.74 of the budget, 2.1 -> 3.2 ulp": of the output whose figures moved most in the direction that was found.
std::string error_text(const RecordChange& r) {
  std::string text;
  double most = 0;
  for (const auto& [tensor, base] : r.base->figures) {
    const auto at = r.head->figures.find(tensor);
    if (at == r.head->figures.end()) continue;
    const TensorFigures& head = at->second;
    const bool budget = known(base.max_budget) && known(head.max_budget) && base.max_budget != head.max_budget;
    const double from = budget ? base.max_budget : base.max_ratio, to = budget ? head.max_budget : head.max_ratio;
    double step = from == to ? std::fabs(head.max_ulp - base.max_ulp) * 1e-6 + std::fabs(head.rmse - base.rmse)
                             : std::fabs(to - from) + 1;
    if (std::isnan(step)) step = std::numeric_limits<double>::infinity();  // no output hides one that is no number
    if (!text.empty() && !(step > most)) continue;
    most = step;
    text = fmt::format("{}: worst error {} of {}; ulp {}", tensor, change_text(from, to),
                       budget ? "the budget" : "the bound", change_text(base.max_ulp, head.max_ulp));
  }
  return text;
}

std::string families_text(const KernelEntry& e) {
  constexpr std::size_t kMost = 4;
  std::set<std::string> formats, families;
  std::vector<std::string> shown;
  for (const RecordChange* r : e.records) {
    formats.insert(r->key().format);
    if (families.insert(r->key().family).second && shown.size() < kMost) shown.push_back(one_line(r->key().family));
  }
  std::string text = fmt::format(
      "{} of {} ({}); {}{}", e.records.size(), counted(e.of, "cell", "cells"), fmt::join(formats, ", "),
      fmt::join(shown, ", "),
      families.size() > shown.size() ? fmt::format(", {} more families", families.size() - shown.size()) : "");
  return text;
}

CauseEntry entry_text(const KernelEntry& e) {
  constexpr std::string_view kHow[] = {"worse", "less accurate", "better", "more accurate", "other figures"};
  const RecordChange& r = *e.records.front();
  const std::string what =
      r.classes.any() ? fmt::format("{}, {} of {} cases", to_string(r.classes), r.classes.cases, r.head->record->cases)
                      : error_text(r);
  return {fmt::format("{}: {}, most in {} {}: {}", one_line(e.kernel), kHow[static_cast<std::size_t>(e.change)],
                      r.key().format, one_line(r.key().family), what),
          families_text(e), r.replay()};
}

void add_gate(const GateResult& gate, VerdictBlock& block) {
  std::size_t waived = 0;
  for (const Reason& r : gate.reasons) {
    if (r.waiver != nullptr) {
      ++waived;
      continue;
    }
    block.causes.push_back({"gate: " + one_line(r.text), one_line(r.id), r.replay});
  }
  for (const Waiver* w : gate.expired) {
    block.causes.push_back(
        {fmt::format("gate: the waiver of {} expired on {}", one_line(w->id), to_string(w->expires)), w->place, ""});
  }
  block.notes.push_back(
      {"gate",
       fmt::format("{}: {} checked{}{}", gate.passes() ? "passes" : "FAILS", counted(gate.checked, "limit", "limits"),
                   waived > 0 ? fmt::format(", {} waived", waived) : "",
                   gate.unused.empty() ? "" : fmt::format(", {} unused waivers", gate.unused.size()))});
}

void add_speed(const Speed& speed, VerdictBlock& block) {
  std::size_t open = speed.not_run.size();
  std::string why = speed.not_run.empty() ? "" : one_line(speed.not_run.front());
  double low = 1, high = 1;
  for (const SpeedChange& s : speed.changes) {
    if (s.verdict == SpeedVerdict::slower || s.verdict == SpeedVerdict::faster) {
      block.notes.push_back({"speed", fmt::format("{}: {}", one_line(s.name), s.text())});
    } else if (s.verdict == SpeedVerdict::no_change_shown) {
      low = std::min(low, s.interval.lower);
      high = std::max(high, s.interval.upper);
    } else {
      if (open++ == 0) why = one_line(s.name) + ": " + s.text();
    }
  }
  const auto unchanged = static_cast<std::size_t>(std::ranges::count_if(
      speed.changes, [](const SpeedChange& s) { return s.verdict == SpeedVerdict::no_change_shown; }));
  if (unchanged > 0) {
    block.notes.push_back({"speed", fmt::format("unchanged within [{:.2g}, {:.2g}] % in {}", 100 * (low - 1),
                                                100 * (high - 1), counted(unchanged, "benchmark", "benchmarks"))});
  }
  if (open > 0) {
    block.notes.push_back(
        {"speed", fmt::format("no verdict on {}: {}", counted(open, "benchmark", "benchmarks"), why)});
  }
}

void add_pairs(const Paired& paired, VerdictBlock& block) {
  for (const PairedGroup& g : paired.groups) {
    if (g.tests.empty()) continue;
    block.notes.push_back({"pairs", fmt::format("{} {}: {} {}", g.key.format, g.key.executor, paired.metrics.front(),
                                                sign_text(g.tests.front()))});
  }
}

std::string sentence_of(const Outcome& o) {
  const Comparison& c = o.comparison;
  if (c.base == nullptr) return summary_line(o);
  std::size_t worse = 0, better = 0, more = 0, less = 0, other = 0;
  for (const RecordChange& r : c.records) {
    if (!r.differs || !r.same_cases) continue;
    const Change change = change_of(r);
    ++(change == Change::class_worse    ? worse
       : change == Change::class_better ? better
       : change == Change::error_worse  ? more
       : change == Change::error_better ? less
                                        : other);
  }
  std::string text = fmt::format("of {} (kernel x format x input family) {} err more, {} less",
                                 counted(c.records.size(), "cell", "cells"), more, less);
  if (other > 0) text += fmt::format(", {} differ in other figures", other);
  if (c.other_cases > 0) text += fmt::format(", {} ran other cases", c.other_cases);
  return text +
         (worse + better == 0 ? "; verdicts unchanged" : fmt::format("; verdicts: {} worse, {} better", worse, better));
}

/// WORSE, BETTER, MIXED, SAME: of what was compared on the same cases. Without a gate nothing of it is a failure.
void set_outcome(const Outcome& o, const std::vector<KernelEntry>& entries, VerdictBlock& block) {
  const auto any = [&](std::initializer_list<Change> changes) {
    return std::ranges::any_of(
        entries, [&](const KernelEntry& e) { return std::ranges::find(changes, e.change) != changes.end(); });
  };
  const Comparison& c = o.comparison;
  const bool worse = any({Change::class_worse, Change::error_worse}),
             better = any({Change::class_better, Change::error_better});
  block.sentence = sentence_of(o);
  if (!worse && !better) {
    const bool same = c.changed() == 0 && c.only_base.empty() && c.only_head.empty();
    block.word = c.base == nullptr ? (o.scope.empty() ? "SPEED" : "SAME") : same ? "SAME" : "CHANGED";
    block.outcome = same ? BlockOutcome::pass : BlockOutcome::none;
  } else {
    block.word = worse && better ? "MIXED" : worse ? "WORSE" : "BETTER";
    block.outcome = worse ? BlockOutcome::fail : BlockOutcome::pass;
  }
  if (o.gate) {
    block.word = {};
    block.outcome = o.gate->passes() ? BlockOutcome::pass : BlockOutcome::fail;
    block.sentence =
        (o.gate->passes() ? "the gate's policy holds. " : "the gate's policy is broken. ") + block.sentence;
  }
}

}  // namespace

VerdictBlock block_of(const Outcome& o) {
  VerdictBlock block;
  const Comparison& c = o.comparison;
  const std::vector<KernelEntry> entries = entries_of(c);
  set_outcome(o, entries, block);
  block.tested.push_back({"base", o.base_label});
  block.tested.push_back({"head", o.head_label});
  if (!o.scope.empty()) block.tested.push_back({"tested", o.scope});
  for (const std::string& caveat : caveats(o)) block.tested.push_back({"caveat", caveat});
  if (o.gate) add_gate(*o.gate, block);
  for (const KernelEntry& e : entries) block.causes.push_back(entry_text(e));
  if (o.speed) add_speed(*o.speed, block);
  if (o.paired) add_pairs(*o.paired, block);
  for (const auto& [heading, keys] : {std::pair{"only base", &c.only_base}, {"only head", &c.only_head}}) {
    if (keys->empty()) continue;
    block.notes.push_back({heading, fmt::format("{}, the first {}", counted(keys->size(), "cell", "cells"),
                                                one_line(keys->front().text()))});
  }
  return block;
}

}  // namespace flashproof::compare
