// Of a kernel whose declaration is open (Reduction::any, or one of several backward passes): which of those that it stands for still explain
// everything that was seen. A run passes only if one of them, the same in every case, explains every element. That each case
// is explained by some declaration says little: the failure of one would excuse what no single kernel does.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "reference/error/verdict.h"
#include "reference/problem/case.h"

namespace flashproof {

/// A total order of the cases of one kernel, whatever the order that workers finish in.
bool comes_before(const CaseSpec& a, const CaseSpec& b);

/// What each alternative adds to an open declaration, as members; of a gradient those that declare it, with a preset. In the order of
/// alternatives() and Kernel::backward_for().
std::vector<std::string> alternative_members(const KernelDeclaration& kernel);

/// One case, a bit for each alternative: those that have a meaning for its problem, and those that a judging law rejected.
struct AlternativesSeen {
  std::uint32_t asked = 0, failed = 0;
};

class Explanation {
 public:
  void add(const AlternativesSeen& seen, const CaseSpec& spec);

  struct Contradiction {
    Verdict verdict;  // fail(exceeds_bound), with the case that rules out each of the alternatives
    std::vector<CaseSpec>
        cases;  // these, in order: together they contradict any single alternative, none needs to alone
  };
  /// Where no alternative is left of those that have a meaning for some problem. A case that none explains by itself is another
  /// finding, the law's.
  /// `members`: alternative_members().
  std::optional<Contradiction> contradiction(const std::vector<std::string>& members) const;
  /// The index of the alternative that suggestion() tells; nullopt where nothing was asked, or no alternative is left.
  std::optional<std::size_t> explaining() const;
  /// The first alternative that failed in none of the problems for which just `asked` have a meaning; nullopt where all did.
  std::optional<std::size_t> survivor(std::uint32_t asked) const;
  /// What to declare in place of what is open: the members of the first alternative that explains all the problems which tell most of
  /// them apart. Empty: nothing was asked, or no alternative is left.
  std::string suggestion(const std::vector<std::string>& members) const;

 private:
  /// The alternatives that failed in no problem for which they have a meaning; none where some problems have no survivor at all.
  std::uint32_t left() const;
  struct Group {
    std::uint32_t failed = 0;
    std::map<int, CaseSpec> first;  // of each alternative, the case that ruled it out
  };
  std::map<std::uint32_t, Group> groups_;  // by AlternativesSeen::asked: merges of (m, l, O) have fewer alternatives
};

/// Explanation::suggestion() as a sentence without a full stop, for the reader of a verdict.
std::string narrower_text(const std::string& suggestion);

}  // namespace flashproof
