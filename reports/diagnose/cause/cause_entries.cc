#include "reports/diagnose/cause/cause_entries.h"

#include <fmt/format.h>

#include <algorithm>

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
  for (const Cause& cause : together(causes)) {
    std::string sentence = cause.sentence + (cause.condition.empty() ? "" : "; " + cause.condition);
    if (!cause.confident) {
      open += (open.empty() ? "" : "; ") + sentence;
      open_cases += cause.cases;
      if (witness.empty()) witness = cause.witness;
      continue;
    }
    if (!cause.others.empty()) sentence += "; or, what these cases do not tell apart: " + cause.other_sentence;
    entries.push_back(
        {fmt::format("{}: {}", kernel.name, sentence),
         fmt::format("explains {} of {} that were looked at{}; {}", cause.cases,
                     counted(cause.failing_cases, "failing case", "failing cases"),
                     cause.elements > 0 ? fmt::format(" ({} elements)", cause.elements) : "", kernel.failing),
         replay(cause.witness)});
  }
  if (open.empty()) return entries;
  entries.push_back(
      {fmt::format("{}: no cause is certain: {}", kernel.name, open),
       fmt::format("{} that were looked at; {}", counted(open_cases, "failing case", "failing cases"), kernel.failing),
       replay(witness)});
  return entries;
}

}  // namespace flashproof
