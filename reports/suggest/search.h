// What the two searches of a suggestion share: the kernel, the cases that it takes, and how it is asked under another declaration.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "reference/error/semantics/semantics.h"
#include "reports/suggest/suggest.h"

namespace flashproof {

using Said = std::vector<CaseSaid>;  // of each case

struct Search {
  const Kernel& kernel;
  const AskCases& ask;
  std::vector<Case> cases = {};
  std::map<std::string, bool> offered = {};           // families, and whether the description takes a case
  std::map<std::string, std::uint64_t> refused = {};  // cases of them that the call refused

  Kernel candidate(const Semantics& semantics, const Arithmetic& arithmetic) const;
  /// By the laws that judge an output by itself.
  std::vector<Said> judge(std::span<const Kernel> candidates, std::span<const Case> some) const;
  Arithmetic parsed(const std::string& text) const;
};

std::size_t failures(const Said& said);
/// Nothing said of rows without numbers.
Semantics without_special_rows(Semantics semantics);

struct ChosenSemantics {
  Semantics semantics;
  Arithmetic arithmetic;  // under which it was chosen: the widest
};
/// Steps 1 and 2 of suggest.h. Notes: what no case shows, and what no value explains.
ChosenSemantics choose_semantics(const Search& search, std::vector<std::string>& notes);
/// Step 3: all of the result but its cases and the notes so far.
void choose_arithmetic(const Search& search, const ChosenSemantics& chosen, Suggestion& result);

}  // namespace flashproof
