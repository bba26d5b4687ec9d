// What a whole run of one kernel has decided, output by output and family by family, and what its declaration has taken out
// of the test. A run passes only if
//
//   1. of each output kLeastDecided is decided, where every family counts alike: the largest cases would outweigh all others;
//   2. of each output kLeastComputed has an exact value that no trivial answer is: where every case is one of a single key, a
//      copy of v is right, and the run tells it from no attention;
//   3. kLeastFamilies of the families that were asked are decided, each as in 1; one whose every output is empty is not. An easy
//      family of large cases would buy the others;
//   4. of the cases that its declaration takes at most kMostRefused are refused when the kernel is called, of all cases and where every
//      family counts alike: what it takes is what it promises, and a kernel that refuses all but the easy ones has been tested on these.
//
// What an honest declaration reaches at least, over seeds 0 to 7 with one case per family: 0.53, 0.31 and 0.69 (P in e4m3, whose
// least weights are lost; softmax without a maximum has 0.69, 0.42 and 0.75). With the 12 cases per family of a default report
// (README.md of reference/error): 0.66, 0.44 and 0.75, the same kernel.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/registry.h"
#include "properties/laws/explanation.h"
#include "properties/laws/law.h"
#include "reference/error/power.h"
#include "reference/problem/case.h"

namespace flashproof {

inline constexpr double kLeastComputed = 0.1;
inline constexpr double kLeastFamilies = 0.6;
inline constexpr double kMostRefused = 0.25;
/// Of the families that a run has, those that the kernel must take a case of: less is a test that any special case might pass.
/// Kernels for head dimensions 64 and 128 alone, without a feature, take 14 of 49.
inline constexpr double kLeastTaken = 0.2;

/// Of one family: lost if more than half of its elements lie outside the declared domain.
struct FamilyPower {
  Power power;
  CaseSpec lost;  // the case of most elements outside; meaningful where `outside` is not 0
  std::uint64_t outside = 0;
  std::uint64_t judged = 0,
                refused = 0;  // cases; refused: when the kernel was called, though its description takes them

  void merge(const FamilyPower& other);

  bool is_lost() const;
  /// Too little of some output was decided, no output had an element, or most cases were refused when the kernel was called.
  bool is_open() const {
    return judged == 0 || refused > judged || power.elements() == 0 || power.weakest().has_value();
  }
};

class RunPower {
 public:
  /// The kernel says that it takes a case of this family; without it a family counts from its first add().
  void ask(std::string_view family) { families_.try_emplace(std::string(family)); }
  /// `cases`: that `power` is of, where it is not one; `spec` then stands for them.
  void add(const CaseSpec& spec, const Power& power, std::uint64_t cases = 1);
  /// Adds the cases of another.
  void merge(const RunPower& other);
  /// Cases of this family that the description takes and the call refused.
  void refuse(std::string_view family, std::uint64_t cases) { families_[std::string(family)].refused += cases; }
  /// Families counted alike, whatever the size of their cases: of each output kPerFamily elements a family.
  Power balanced() const;
  const std::map<std::string, FamilyPower, std::less<>>& families() const { return families_; }
  /// Names of the families that are lost, in their order.
  std::vector<std::string_view> lost() const;
  /// "huge (o: outside), near_ties (o: zero), sizes (refused), softcap (not judged), ...": families of which too little was decided,
  /// and the commonest reason.
  std::vector<std::string> open() const;
  /// That no case or no element was judged, or the first of 4, 1, 2 and 3 that does not hold, as a sentence; empty where all do.
  std::string undecided() const;
  /// A finding: empty, or the sentence that names the field of the declaration which leaves most of the families that were asked
  /// out of its domain, and the families. The field is found by putting the default in its place and asking the bound
  /// again; where no single field brings a lost case back, the precondition that fails is named. That is a finding only where most
  /// families of the problem are lost: an algorithm has its range, and who asks just for what lies beyond learns nothing new.
  /// Of an open declaration `alternative` is the one that explains the run (Explanation::explaining()).
  std::string narrow_declaration(const KernelDeclaration& kernel, std::size_t alternative = 0) const;

 private:
  /// As undecided(): that no case or no element was judged, or more than kMostRefused were refused.
  std::string unjudged() const;
  std::map<std::string, FamilyPower, std::less<>> families_;
};

/// A law of a run. Every run asks the judging laws: one that compares outputs with each other holds of NaN everywhere, so that a
/// law alone would pass a kernel that computes nothing. What was not asked for finds nothing, but without it nothing is a pass.
struct Question {
  const Law* law;
  bool asked;
};
/// Of the laws of this problem, in the order of laws(): those that were asked for, and the judging laws.
std::vector<Question> questions(ProblemKind problem, std::span<const Law* const> asked);

/// Of a replay: Conclusion::judged is false. It need not be a test as a run is, but a kernel of NaN passes what was not judged.
inline constexpr std::string_view kJudgedNothing =
    "no case was judged right or wrong: too little of its output is decided";

/// What a run says of its kernel's declaration after the last case.
struct Conclusion {
  std::optional<Explanation::Contradiction> contradiction;  // a finding: no single alternative explains the run
  std::string narrow;                                       // a finding: RunPower::narrow_declaration()
  CaseSpec lost;                                            // of it: a case that lies outside
  std::vector<std::string> unasked;    // sentences: judging laws that were not asked for and are no pass
  bool judged = false;                 // by the first judging law, asked or not, some case is right or wrong
  std::vector<std::string> undecided;  // RunPower::undecided(), and too few families that were asked
  std::vector<std::string> open;       // RunPower::open()
  std::size_t families = 0;            // that were asked
  std::string suggestion;              // Explanation::suggestion()
  Power power;                         // by the declaration, or by the alternative that explains the run
  /// Of each law the cases of which it says pass or fail, each family alike: a law that speaks of easy cases alone shows little.
  std::map<std::string, Power, std::less<>> by_law;
};

/// That a law which the kernel's declaration promises rests on cases of which nothing of some output is decided; empty where it does not.
std::string undecided_promise(std::string_view law, const Power& power);

/// That a kernel refused what a law made of more cases than the law decided.
std::string refused_law_text(std::string_view law, std::uint64_t refused, std::uint64_t executed);

/// One kernel over many cases, by each alternative of its declaration.
class RunDecisions {
 public:
  /// A family that the run has for this kernel. `taken`: the kernel says that it takes a case of it; then it counts as one that was
  /// not decided where every call is refused. Of no family by default: those count that cases were added of.
  void offer(std::string_view family, bool taken);
  /// Of one that was offered and not taken: it has cases after all.
  void ask(std::string_view family) { asked_.emplace(family); }
  bool asks(std::string_view family) const { return asked_.contains(family); }
  /// A case that the description takes was refused when the kernel was called.
  void refuse(std::string_view family, std::uint64_t cases = 1) { refused_[std::string(family)] += cases; }
  /// `powers`: of the case, by alternative; empty where another law was asked.
  void add(const CaseSpec& spec, const AlternativesSeen& seen, const std::map<std::size_t, Power>& powers);
  /// A law that was asked for says pass or fail of a case with these `powers`.
  void said(std::string_view law, const CaseSpec& spec, const AlternativesSeen& seen,
            const std::map<std::size_t, Power>& powers);
  /// What a judging law that was not asked for says of a case that the kernel takes.
  void unasked(std::string_view law, const CaseSpec& spec, const Verdict& verdict);
  Conclusion conclude(const KernelDeclaration& kernel) const;
  /// Without what depends on the declaration.
  Conclusion conclude() const;

 private:
  /// By the declaration, or by the alternative that explains the run; of cases for which that one has no meaning by the first that
  /// explains those. Empty where no family was asked.
  std::optional<RunPower> power() const;
  /// By group of problems and alternative.
  using Powers = std::map<std::uint32_t, std::map<std::size_t, RunPower>>;
  /// By the same choice as power(): of each group the alternative that explains the run.
  RunPower chosen(const Powers& powers) const;
  std::size_t offered_ = 0;
  std::set<std::string, std::less<>> asked_;
  std::map<std::string, std::uint64_t, std::less<>> refused_;
  Explanation explanation_;
  /// By AlternativesSeen::asked – cases of one group have the same alternatives – and alternative.
  Powers powers_;
  std::map<std::string, Powers, std::less<>> powers_by_law_;  // of the cases of which it said something
  struct Unasked {
    bool decided = false;
    std::optional<Verdict> verdict = {};  // the worst of those that fail or are inconclusive
    CaseSpec spec = {};                   // of it: the first of its kind
  };
  std::map<std::string, Unasked, std::less<>> unasked_;  // by law
};

}  // namespace flashproof
