// The comparison as GitHub-flavoured Markdown for a comment: the gate first, then what got worse. Tables end early where the
// room ends, and the comment is never longer than GitHub takes.
#include <fmt/format.h>

#include <algorithm>

#include "reports/compare/outcome.h"
#include "reports/compare/toml_reader.h"
#include "reports/record/report.h"
#include "reports/views/markdown/markdown_parts.h"
#include "reports/views/terminal/text.h"

namespace flashproof::compare {
namespace {

using namespace markdown_parts;

std::string title(const Key& key) {
  return fmt::format("{} {} {}{} {}", code(key.kernel), cell(key.format), cell(key.executor),
                     key.math == "det" ? "" : " " + cell(key.math), cell(key.family));
}

std::string replay_of(const RecordChange& r) {
  const std::string line = r.replay();
  return line.empty() ? "-" : code(shortened(line));
}

std::string told(const RecordOf& r) {
  const WorstCase* w = r.witness();
  return w != nullptr ? cell(shortened(witness_text(*w))) : "-";
}

/// One line per tensor.
std::string figures(const RecordChange& r) {
  std::string lines;
  for (const auto& [tensor, base] : r.base->figures) {
    const auto head = r.head->figures.find(tensor);
    if (head == r.head->figures.end()) continue;
    lines += (lines.empty() ? "" : "<br>") + cell(tensor_line(tensor, base, head->second));
  }
  return lines;
}

Section gate_table(const Outcome& o) {
  Section s;
  if (!o.gate) return s;
  const GateResult& g = *o.gate;
  s.head = fmt::format("## Gate: {}\n\n{} limits checked.\n\n", g.passes() ? "passes" : "**fails**", g.checked);
  if (!g.reasons.empty() || !g.expired.empty() || !g.unused.empty()) {
    s.head += "| | id | what | replay |\n|---|---|---|---|\n";
  }
  const auto row = [&](std::string_view mark, const std::string& id, const std::string& what,
                       const std::string& replay) {
    s.rows.push_back(fmt::format("| {} | {} | {} | {} |\n", mark, code(shortened(id)), cell(shortened(what)),
                                 replay.empty() ? "" : code(shortened(replay))));
  };
  for (const Waiver* w : g.expired) {
    row("**fail**", w->id, fmt::format("its waiver ({}) expired on {}", w->place, to_string(w->expires)), "");
  }
  for (const Reason& r : g.reasons) {
    if (r.waiver == nullptr) row("**fail**", r.id, r.text, r.replay);
  }
  for (const Reason& r : g.reasons) {
    if (r.waiver != nullptr) {
      row("waived", r.id, fmt::format("until {}: {}", to_string(r.waiver->expires), r.waiver->reason), "");
    }
  }
  for (const Waiver* w : g.unused) row("note", w->id, fmt::format("the waiver ({}) matches no reason", w->place), "");
  return s;
}

Section class_table(const Outcome& o) {
  Section s;
  if (o.comparison.by_class().empty()) return s;
  s.head =
      "## Class changes, the most harmful first\n\n| | record | cases | error/bound | figures | BASE | HEAD | replay "
      "|\n|---|---|---|---|---|---|---|---|\n";
  for (const RecordChange* r : o.comparison.by_class()) {
    s.rows.push_back(fmt::format("| {} | {} | {}: {} | {} | {} | {} | {} | {} |\n",
                                 r->classes.worse ? "**worse**" : "better", title(r->key()),
                                 cell(to_string(r->classes)), cell(moves_text(r->classes)),
                                 cell(change_text(r->base->max_ratio, r->head->max_ratio)), figures(*r), told(*r->base),
                                 told(*r->head), replay_of(*r)));
  }
  return s;
}

Section pair_table(const Outcome& o) {
  Section s;
  if (!o.paired) return s;
  s.head =
      fmt::format("## Paired: {} cases, each run by both\n\n| what | cases |\n|---|---|\n", o.paired->cases.size());
  for (const PairedGroup& g : o.paired->groups) {
    const std::string where = fmt::format("{} {} {}", cell(g.key.format), cell(g.key.executor), cell(g.key.math));
    for (std::size_t i = 0; i < g.tests.size(); ++i) {
      s.rows.push_back(
          fmt::format("| {}: {} | {} |\n", where, cell(o.paired->metrics[i]), cell(sign_text(g.tests[i]))));
    }
  }
  for (const PairedCase* one : o.paired->class_changes()) {
    s.rows.push_back(
        fmt::format("| {} -> {} | {} |\n", name(one->base), name(one->head), code(shortened(o.paired->replay(*one)))));
  }
  return s;
}

Section error_table(const Outcome& o) {
  Section s;
  if (o.comparison.by_error().empty()) return s;
  s.head =
      "## Error changes, worse first\n\nThe class stands. ulp by octaves: a quantile lies in the interval that is "
      "named, and nothing "
      "narrower is known.\n\n| | record | error/bound | figures | worst element | replay "
      "|\n|---|---|---|---|---|---|\n";
  for (const RecordChange* r : o.comparison.by_error()) {
    s.rows.push_back(fmt::format("| {} | {} | {} | {} | {} | {} |\n", word(r->error), title(r->key()),
                                 cell(change_text(r->base->max_ratio, r->head->max_ratio)), figures(*r), told(*r->head),
                                 replay_of(*r)));
  }
  return s;
}

Section speed_table(const Outcome& o) {
  Section s;
  if (!o.speed) return s;
  s.head = fmt::format("## Speed\n\n{}.\n\n| benchmark | BASE | HEAD | |\n|---|--:|--:|---|\n", cell(o.speed->how()));
  for (const SpeedChange& c : o.speed->changes) {
    s.rows.push_back(fmt::format("| {} | {} s | {} s | {} |\n", code(c.name), short_number(c.base_median),
                                 short_number(c.head_median), cell(c.text())));
  }
  const auto alone = [&](const std::vector<std::string>& names, std::string_view what) {
    for (const std::string& name : names)
      s.rows.push_back(fmt::format("| {} | | | {} |\n", code(shortened(name)), what));
  };
  alone(o.speed->only_base, "only in BASE");
  alone(o.speed->only_head, "only in HEAD");
  alone(o.speed->not_run, "not run");
  return s;
}

/// What the caveat of different cases promises.
Section often_table(const Outcome& o) {
  Section s;
  if (o.comparison.other_cases == 0) return s;
  s.head =
      fmt::format("## Fails more or less often, on other cases\n\nFisher's exact test, two-sided, p times {} records.",
                  o.comparison.other_cases);
  for (const RecordChange& r : o.comparison.records) {
    if (r.same_cases || r.more_failures_p >= kLevel) continue;
    s.rows.push_back(fmt::format("| {} | {} of {} | {} of {} | {} | {} |\n", title(r.key()), failing(r.base->classes),
                                 r.base->record->cases, failing(r.head->classes), r.head->record->cases,
                                 short_number(r.more_failures_p), cell(counts_text(r.base->classes, r.head->classes))));
  }
  s.head += s.rows.empty() ? " No change shown.\n\n"
                           : "\n\n| record | fails in BASE | in HEAD | p | cases |\n|---|--:|--:|--:|---|\n";
  return s;
}

Section missing_table(const Outcome& o) {
  Section s;
  if (o.comparison.only_base.empty() && o.comparison.only_head.empty()) return s;
  s.head = "## In one of the two alone\n\n| record | only in |\n|---|---|\n";
  for (const Key& key : o.comparison.only_base) s.rows.push_back(fmt::format("| {} | BASE |\n", title(key)));
  for (const Key& key : o.comparison.only_head) s.rows.push_back(fmt::format("| {} | HEAD |\n", title(key)));
  return s;
}

/// What has no rows and yet something to say.
std::string head_alone(const Section& s, std::size_t& room) {
  if (!s.rows.empty() || s.head.empty() || s.head.size() > room) return {};
  room -= s.head.size();
  return s.head;
}

}  // namespace

/// The block for people, the tables folded below it.
std::string markdown_of(const Outcome& o) {
  std::string out = "# flashproof compare\n\n" + fenced(block_of(o)) + std::string(kFold);
  std::size_t room = kMarkdownLimit - std::min(out.size() + kFoldEnd.size(), kMarkdownLimit);
  for (const Section& s : {gate_table(o), class_table(o), pair_table(o), error_table(o), often_table(o), speed_table(o),
                           missing_table(o)}) {
    out += head_alone(s, room);
    out += s.within(room, room / 2);
  }
  return out + std::string(kFoldEnd);
}

}  // namespace flashproof::compare
