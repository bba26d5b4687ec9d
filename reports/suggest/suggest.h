// The declaration that explains a kernel: which semantics and which arithmetic, narrowest first, leave no case unexplained.
//
//   1. base of lse and alignment of the mask, every row without numbers left out (`any`), under the widest arithmetic;
//   2. on drawn cases, and some with such rows in addition: rows without keys, rows that see NaN and +inf: the first value that explains all such rows, field by field; where none
//      does, `any`;
//   3. arithmetic: presets, and one field of them changed, in the order of how wide their bounds are on some of the cases. The first that explains them must also
//      stand before the relating laws, by which check would refute it: they see errors that lie inside the bound of each output alone. What they reject under the open declaration, too,
//      is a note.
//
// A declaration is suggested only if no case contradicts it and a run of these cases would pass by it (RunDecisions): one under
// which they decide nothing is none.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "properties/laws/run_power.h"
#include "reference/problem/case.h"

namespace flashproof {

/// Which laws: those that judge an output by itself, or all of the problem.
enum class AskedLaws : std::uint8_t { judging, all };

/// What laws say of one case of a kernel.
struct CaseSaid {
  Verdict verdict = {};  // the worst; unsupported: refused, which says nothing of a declaration
  AlternativesSeen seen = {};
  std::map<std::size_t, Power> powers = {};
};
/// Of each candidate, of each case. A candidate is the kernel with another declaration; the references must not be kept.
using AskCases = std::function<std::vector<std::vector<CaseSaid>>(std::span<const Kernel> candidates,
                                                                  std::span<const Case> cases, AskedLaws laws)>;
/// In this process.
CaseSaid ask_case(const Kernel& candidate, const Case& subject, AskedLaws laws);

struct Unexplained {
  CaseSpec spec;  // "planted=inf" where the first row of the case has that in addition (special_rows.h)
  Verdict verdict;
};

struct Suggestion {
  bool found = false;
  std::string semantics, arithmetic;          // as a description has them: JSON; the nearest where nothing was found
  std::string alternative;                    // of an open arithmetic: the one that explains the cases, as fields
  std::size_t cases = 0;                      // that the kernel took
  std::vector<Unexplained> unexplained = {};  // the smallest first
  std::vector<std::string> notes = {};        // what no case shows, and what no value explains
  std::string undecided = {};                 // why nothing is suggested although every case is explained
};

/// Throws UsageError for a gradient, and where there is no case.
Suggestion suggest(const Kernel& kernel, std::span<const Case> cases, const AskCases& ask);

/// To paste, and what stays unexplained. `heading`: the kernel's name; `id`: its id in a TOML file, empty of a callable, which
/// has no description.
std::string suggestion_text(const Suggestion& suggestion, const std::string& heading, const std::string& id);

}  // namespace flashproof
