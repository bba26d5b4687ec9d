// What became of the cases of a record, as a ladder: the higher a class stands, the more it harms users of the kernel
// without looking. A change of classes is a change of how many cases stand on each rung.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reference/error/verdict.h"
#include "reports/statistics/seed_set.h"

namespace flashproof::compare {

/// Best first. A finite number that is wrong is worse than NaN or inf in a number's place, which can be seen.
enum class CaseClass : std::uint8_t {
  pass,
  undecided,      // passed, but too few elements were decided
  vacuous,        // nothing was tested
  out_of_domain,  // every row lies beyond the range that the kernel declares, and it says so
  unsupported,    // refused by name
  inconclusive,
  error,           // the kernel reported an error, or took its process down
  class_mismatch,  // NaN or inf in a number's place, or the reverse
  unwritten,
  nondeterministic,
  exceeds_bound,
  leak,
  laundering,
  silently_wrong,
};
inline constexpr std::size_t kCaseClasses = 14;

/// As report.json spells it, kind or failure.
std::string_view name(CaseClass c);
/// `failure` counts where the kind is fail.
CaseClass class_of(VerdictKind kind, Failure failure);

/// Cases by class.
using ClassCounts = std::array<std::uint64_t, kCaseClasses>;

/// And the seeds of these cases.
using ClassSeeds = std::array<SeedSet, kCaseClasses>;

/// Cases that stood on one rung in BASE and stand on another in HEAD.
struct ClassMove {
  CaseClass from{}, to{};
  std::uint64_t cases = 0, first = 0;  // first: the lowest of their seeds

  bool worse() const { return to > from; }
};

/// Those on the rung of error or above.
std::uint64_t failing(const ClassCounts& classes);

struct ClassChange {
  bool worse = false, better = false;  // both: some cases climbed and others fell
  CaseClass from{}, to{};   // of the worse direction if there is one: the best rung that lost, the worst that gained
  std::uint64_t cases = 0;  // that `to` gained
  std::vector<ClassMove> moves = {};  // the most harmful first; of one case none

  bool any() const { return worse || better; }
};

/// Case by case: what one seed loses is not made up for by what another gains. The same seeds in both.
ClassChange class_change(const ClassSeeds& base, const ClassSeeds& head);

/// The same of one case.
ClassChange class_change(CaseClass base, CaseClass head);

/// "pass -> silently_wrong", by how many cases.
std::string to_string(const ClassChange& change);
/// "pass 12 -> 9, silently_wrong 0 -> 3": the rungs that differ.
std::string counts_text(const ClassCounts& base, const ClassCounts& head);
/// "2 pass -> silently_wrong (first seed 7), 1 leak -> pass (seed 3)".
std::string moves_text(const ClassChange& change);
/// For sorting: the most harmful first; worse before better.
bool harms_more(const ClassChange& a, const ClassChange& b);

/// Those of which cases changed class, the most harmful first.
template <class T>
std::vector<const T*> by_harm(const std::vector<T>& all) {
  std::vector<const T*> list;
  for (const T& one : all) {
    if (one.classes.any()) list.push_back(&one);
  }
  std::ranges::stable_sort(list, [](const T* a, const T* b) { return harms_more(a->classes, b->classes); });
  return list;
}

}  // namespace flashproof::compare
