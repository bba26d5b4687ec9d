// The laws over the families for some kernels: counts and, per kernel and law, the first case that failed.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "properties/laws/run_power.h"
#include "reference/error/power.h"
#include "reference/error/verdict.h"
#include "reference/problem/case.h"

namespace flashproof {

struct PropertyOptions {
  std::vector<std::string> kernels, laws, families;  // globs
  std::uint64_t seed = 1;
  std::uint64_t cases = 6;
  int redraws = 0;                  // as in Search: of a foreign kernel that takes a part of the problems
  std::string program;              // what a replay line begins with; empty: the path of this program
  std::vector<std::string> replay;  // witness files or case lines instead of the families
  // A law that judges is asked on every family. Another one, once it has decided three cases of a kernel, on one family in so many, but
  // no more than there are kernels of its problem, in turn: kernel, law and family meet in pairs, as in a Latin square.
  std::uint64_t turns = 1;
  bool judged_elsewhere = false;           // another run asks the judging laws: here only what `laws` names is asked
  std::filesystem::path junit, json, out;  // empty: not written
  // Families of kernels, done and in all; and whether to end before the next case, with what there is by then.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
  std::function<bool()> stop = {};
  RunDecisions before = {};                                 // of cases that were judged elsewhere: one run with these
  Kernel (*kernel_of)(const KernelDeclaration&) = nullptr;  // as of property_main()
};

struct PropertyFailure {
  CaseSpec spec;  // as it was drawn; the witness holds what it shrank to
  Verdict verdict;
  std::string witness;  // path, or what was replayed; empty: no witness was asked for
  std::string shrunk;   // what the witness holds, brief()
  // What no single case shows. Of a contradiction the cases that do together; of a declaration that is too narrow, the whole run.
  std::vector<CaseSpec> together = {};
  std::string run = {};  // its options
};

/// Of a foreign kernel's fault that has a name: "wrong_shape", "raised: ValueError"; empty of all else.
std::string call_fault_name(const Verdict& verdict);

/// One kernel under one law.
struct PropertyResult {
  std::string_view kernel, law;
  std::array<std::uint64_t, kVerdictKinds> counts{};  // cases by VerdictKind
  std::map<std::string, std::array<std::uint64_t, kVerdictKinds>, std::less<>> by_family = {};
  std::uint64_t taken = 0;                      // cases that the kernel takes
  std::uint64_t refused_by_law = 0;             // of which it refused what the law made of them
  std::string does_not_apply = {};              // why the law says nothing about a case that the kernel takes
  std::optional<PropertyFailure> failure = {};  // the first

  bool unasked = false;  // the run was stopped before a case of it was asked: neither skipped nor a pass
  std::string undecided =
      {};  // why the run is no pass though nothing failed; of one law of the kernel, or of a promise
  std::string suggestion = {};  // of an open reduction: what explains the whole run, as members of a declaration
  Power power = {};  // of the cases of which the law says something; of the first judging law what the run has decided
  // Of the first judging law: the families of which too little was decided (RunPower::open()).
  std::vector<std::string> open = {};

  /// Cases in which the kernel ran and the law was asked.
  std::uint64_t executed() const;
  /// Cases on which the law said something: pass or fail.
  std::uint64_t decided() const;
  /// A failing case, or a kernel that takes no case: a test that tested nothing must not look like one that passed.
  bool finding() const { return failure || (taken == 0 && !unasked); }
  /// Nothing failed, but the run is no pass.
  bool unproven() const { return !finding() && !undecided.empty(); }
  /// The law says nothing about this kernel: neither a pass nor a finding.
  bool skipped() const { return !finding() && executed() == 0 && !unasked; }
};

/// PropertyResult::undecided of a law that was left unasked, where nothing else is.
inline constexpr std::string_view kLeftUnasked = "the run ended before it was asked";

/// Kernel by kernel, law by law within it; each kernel is asked those of the chosen laws that are of its problem. None where that
/// is none of them for any kernel. Throws UsageError for a glob that matches nothing, for two kernels of one id, and where no
/// chosen kernel has a case.
std::vector<PropertyResult> run_properties(std::span<const KernelDeclaration> kernels, const PropertyOptions& options);

}  // namespace flashproof
