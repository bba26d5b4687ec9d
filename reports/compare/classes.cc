#include "reports/compare/classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace flashproof::compare {
namespace {

constexpr std::array<std::string_view, kCaseClasses> kNames = {
    "pass",          "undecided", "vacuous",        "out_of_domain", "unsupported",
    "inconclusive",  "error",     "class_mismatch", "unwritten",     "nondeterministic",
    "exceeds_bound", "leak",      "laundering",     "silently_wrong"};

/// Getting worse: the higher the rung it ends on, and the lower it began. Getting better: the larger the step, last.
std::tuple<bool, int, int, std::uint64_t> harm(bool worse, CaseClass from_class, CaseClass to_class,
                                               std::uint64_t cases) {
  const int to = static_cast<int>(to_class), from = static_cast<int>(from_class);
  return {worse, worse ? to : from - to, worse ? -from : -to, cases};
}

}  // namespace

std::string_view name(CaseClass c) { return kNames[static_cast<std::size_t>(c)]; }

CaseClass class_of(VerdictKind kind, Failure failure) {
  const std::string_view text = kind == VerdictKind::fail ? flashproof::name(failure) : flashproof::name(kind);
  return static_cast<CaseClass>(std::ranges::find(kNames, text) - kNames.begin());
}

std::uint64_t failing(const ClassCounts& classes) {
  std::uint64_t sum = 0;
  for (auto i = static_cast<std::size_t>(CaseClass::error); i < kCaseClasses; ++i) sum += classes[i];
  return sum;
}

ClassChange class_change(const ClassSeeds& base, const ClassSeeds& head) {
  ClassChange change;
  for (std::size_t from = 0; from < kCaseClasses; ++from) {
    for (std::size_t to = 0; to < kCaseClasses; ++to) {
      if (from == to || base[from].empty() || head[to].empty()) continue;
      const SeedSet moved = base[from].intersection(head[to]);
      if (moved.empty()) continue;
      change.moves.push_back(
          {static_cast<CaseClass>(from), static_cast<CaseClass>(to), moved.size(), moved.intervals().front().first});
      (to > from ? change.worse : change.better) = true;
    }
  }
  if (!change.any()) return change;
  std::ranges::sort(change.moves, [](const ClassMove& a, const ClassMove& b) {
    return harm(a.worse(), a.from, a.to, a.cases) > harm(b.worse(), b.from, b.to, b.cases);
  });
  change.from = change.moves.front().from;
  change.to = change.moves.front().to;
  change.cases = change.moves.front().cases;
  return change;
}

ClassChange class_change(CaseClass base, CaseClass head) {
  if (base == head) return {};
  return {.worse = head > base, .better = head < base, .from = base, .to = head, .cases = 1};
}

std::string to_string(const ClassChange& change) {
  return fmt::format("{} -> {}{}", name(change.from), name(change.to),
                     change.worse && change.better ? ", others the other way" : "");
}

std::string counts_text(const ClassCounts& base, const ClassCounts& head) {
  std::string text;
  for (std::size_t i = 0; i < kCaseClasses; ++i) {
    if (base[i] == head[i]) continue;
    text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", kNames[i], base[i], head[i]);
  }
  return text;
}

std::string moves_text(const ClassChange& change) {
  constexpr std::size_t kMost = 6;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, change.moves.size()); ++i) {
    const ClassMove& m = change.moves[i];
    text += fmt::format("{}{} {} -> {} ({}seed {})", i == 0 ? "" : ", ", m.cases, name(m.from), name(m.to),
                        m.cases == 1 ? "" : "first ", m.first);
  }
  if (change.moves.size() > kMost) text += fmt::format(" and {} more moves", change.moves.size() - kMost);
  return text;
}

bool harms_more(const ClassChange& a, const ClassChange& b) {
  return harm(a.worse, a.from, a.to, a.cases) > harm(b.worse, b.from, b.to, b.cases);
}

}  // namespace flashproof::compare
