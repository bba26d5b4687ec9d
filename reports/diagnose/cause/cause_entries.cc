#include "reports/diagnose/cause/cause_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "reports/views/terminal/text.h"

namespace flashproof {
namespace {

/// One cause, one entry: causes of the same words together, certain if one of them is.
std::vector<Cause> together(const std::vector<Cause>& causes) {
  std::vector<Cause> list;
  for (const Cause& cause : causes) {
    const auto same = std::ranges::find_if(
        list, [&](const Cause& c) { return c.sentence == cause.sentence && c.condition == cause.condition; });
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

/// The field and value of the semantics that a cause is, where it is one: many a right kernel returns this.
std::string declared_by(std::string_view id) {
  constexpr std::pair<std::string_view, std::string_view> kFields[] = {
      {"lse.base_2", R"(lse_base = "2")"},
      {"causal.top_left", R"(diagonal = "top_left")"},
      {"nan:no_visible_key", R"(empty_o = "nan")"},
  };
  for (const auto& [cause, field] : kFields) {
    if (cause == id) return fmt::format("if it is meant, declare semantics {}", field);
  }
  return "";
}

std::string looked_at(std::uint64_t n) {
  return counted(n, "failing case that was looked at", "failing cases that were looked at");
}

}  // namespace

bool is_diagnosed(const std::vector<Cause>& causes) {
  return std::ranges::any_of(causes, [](const Cause& cause) { return cause.cases > 0; });
}

bool is_certain(const std::vector<Cause>& causes) { return std::ranges::any_of(causes, &Cause::confident); }

std::vector<CauseEntry> cause_entries(const std::vector<Cause>& causes, const DiagnosedKernel& kernel) {
  std::vector<CauseEntry> entries;
  std::string open, witness;
  std::uint64_t open_cases = 0;
  const auto replay = [&](const std::string& line) { return line.empty() ? "" : kernel.replay(line); };
  const std::vector<Cause> list = together(causes);
  for (const Cause& cause : list) {
    if (cause.confident) continue;
    open += (open.empty() ? "" : "; ") + cause.text();
    open_cases += cause.cases;
    if (witness.empty()) witness = cause.witness;
  }
  for (const Cause& cause : list) {
    if (!cause.confident) continue;
    std::string sentence = cause.text();
    if (!cause.others.empty()) sentence += "; or, what these cases do not tell apart: " + cause.other_sentence;
    std::string extent = fmt::format("explains {} of {}", cause.cases, looked_at(cause.failing_cases));
    if (cause.elements > 0) extent += fmt::format(" ({} elements)", cause.elements);
    // What a mistake leaves behind looks like other mistakes: it is said, and is no cause of its own.
    if (entries.empty() && !open.empty()) extent += fmt::format(", leaves elements of {}: {}", open_cases, open);
    if (const std::string field = declared_by(cause.id); kernel.is_foreign && !field.empty()) sentence += "; " + field;
    entries.push_back({fmt::format("{}: {}", kernel.name, sentence), fmt::format("{}; {}", extent, kernel.failing),
                       replay(cause.witness)});
  }
  if (entries.empty() && !open.empty()) {
    entries.push_back({fmt::format("{}: no cause is certain: {}", kernel.name, open),
                       fmt::format("{}; {}", looked_at(open_cases), kernel.failing), replay(witness)});
  }
  return entries;
}

}  // namespace flashproof
