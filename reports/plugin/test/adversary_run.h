// Test support: `check` of one adversary under one declaration, in this process: the cases, the steps and the verdict are those
// of check.cc.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "reference/error/semantics/declared_terms.h"
#include "reports/plugin/kernel_run.h"
#include "reports/plugin/test/adversaries.h"

namespace flashproof {

/// A case, its truth and its right output, made once for all declarations and adversaries.
struct AdversaryCase {
  /// As a kernel with these semantics is given it.
  AdversaryCase(const Case& made, const Semantics& semantics, Overflow overflow)
      : content{made.spec, as_declared(made.problem, semantics)},
        truth(content),
        right(right_output(content.problem, semantics, overflow)) {}
  AdversaryCase(const AdversaryCase&) = delete;
  AdversaryCase& operator=(const AdversaryCase&) = delete;

  Case content;
  CaseTruth truth;
  Output right;
};

/// Of one problem and format, in all families.
class CasePool {
 public:
  CasePool(ProblemKind problem, Format format, std::uint64_t seed) : problem_(problem), format_(format), seed_(seed) {}

  /// By family, in the order of the report: the first `cases` from the seed on that the kernel takes, as check.cc looks for
  /// them; empty where it takes none. Those of kernels with the semantics of the last call are kept.
  std::vector<std::vector<AdversaryCase*>> taken(const Kernel& kernel, std::size_t cases);

 private:
  ProblemKind problem_;
  Format format_;
  std::uint64_t seed_;
  Semantics semantics_;
  std::map<std::tuple<std::string, std::uint64_t, Overflow>, std::unique_ptr<AdversaryCase>>
      made_;  // null: no such case
};

struct RunVerdict {
  enum class Word : std::uint8_t { pass, undecided, fail } word;
  std::string
      cause;  // a law's name, "declaration", "unasked", "share", "nothing computed", "families", "capability", "inconclusive", "untested"
  std::string detail;  // one line
};
std::string_view name(RunVerdict::Word word);

/// `runner` makes the kernel's code of a case. `declared`: what the description takes; as check draws more cases for what its families
/// do not have, here what two cases have must have been decided.
RunVerdict check_in_process(const Kernel& kernel, std::span<const std::vector<AdversaryCase*>> families,
                            std::span<const Law* const> asked, const std::function<Runner(AdversaryCase&)>& runner,
                            std::span<const Capability* const> declared = {});

}  // namespace flashproof
