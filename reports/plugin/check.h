// The laws on the kernels of a plugin, in worker processes: a crash, a hang or a broken rule of the ABI is a finding of the law
// `call_returns`, and the rest goes on. Like properties/driver/property_run.h, whose kernels are trusted not to end the process.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/plugin/load.h"
#include "properties/generators/family.h"
#include "reference/error/power.h"
#include "reference/error/verdict.h"
#include "reference/problem/case.h"
#include "reports/diagnose/cause/cause.h"

namespace flashproof {

/// Asked before any law, of every case: the kernel comes back with FLASHPROOF_OK or UNSUPPORTED, and leaves everything but its
/// outputs and its workspace as it was. Where it does not, no law is asked.
inline constexpr std::string_view kCallReturns = "call_returns";

struct PluginCheck {
  std::vector<std::string> kernels, laws, families, formats;  // globs; laws may name call_returns
  std::uint64_t seed = 0;                                     // of the first case of every family
  std::uint64_t cases = kDefaultCases;                        // per kernel, format and family
  int jobs = 1;
  double seconds = 20;  // of its process's own time for one call; longer is a hang
  /// Witnesses of findings go there; empty: none are written.
  std::filesystem::path out = {};
  /// In place of the families: these cases, for which nothing is written.
  std::vector<Case> replay = {};
};

struct PluginFailure {
  CaseSpec spec;  // as it was drawn; the witness may hold a simpler one
  Verdict verdict;
  std::string witness;  // path; empty: none was written
  std::string shrunk;   // what the witness holds, if it is simpler
  std::vector<CaseSpec> together =
      {};  // of a contradiction: the cases that show it together, none of which fails alone
};

/// What came of a law, or of all of them, on some cases.
struct PluginTally {
  std::array<std::uint64_t, kVerdictKinds> counts{};  // cases by VerdictKind
  Verdict verdict{VerdictKind::unsupported, Failure::none, ""};
  double ratio = -1;  // largest error/bound; −1: nothing was measured

  void add(const Verdict& one, double its_ratio);
};

/// One kernel, in one format, under one law.
struct PluginResult {
  const Kernel* kernel;
  std::string_view law;
  PluginTally tally;
  std::map<std::string, PluginTally, std::less<>> by_family = {};
  Power power = {};                           // of the cases of which a law said something: Conclusion::by_law
  std::string does_not_apply = {};            // why the law says nothing, of most cases of which it says nothing
  std::optional<PluginFailure> failure = {};  // of the first family and seed that failed

  /// Cases in which the kernel ran and the law was asked.
  std::uint64_t executed() const;
  /// Cases on which the law said something.
  std::uint64_t decided() const;
};

/// What a whole run says of one kernel's declaration; of a replay only what keeps its verdict from being a pass.
struct PluginOutcome {
  const Kernel* kernel;
  Power power = {};                         // by the declaration, or by the alternative that explains the run
  std::size_t families = 0;                 // that were asked
  std::vector<std::string> open = {};       // of these the ones of which too little was decided (RunPower::open())
  std::vector<std::string> undecided = {};  // sentences: an output, or a promise, of which too little was decided
  std::uint64_t refused = 0;                // cases that the description takes, when the kernel was called
  std::uint64_t not_asked = 0;              // such cases, after the kernel had ended or held up too many processes
  std::string narrow = {};                  // a finding: the declaration leaves most families out of its domain
  std::string suggestion = {};              // of an open reduction: what explains the whole run
};

struct PluginReport {
  std::vector<PluginResult> results;         // by kernel, law by law
  std::vector<PluginOutcome> outcomes = {};  // of every kernel of results
  std::string failure;                       // why the run was given up; empty: it was not
  std::string replaced;                      // Plugin::replaced() at its end
  bool partial = false;
  bool replay = false;
  std::vector<const Kernel*> need_gpu;  // selected, and not run: their tensors lie on a GPU and there is none
  std::string why_no_gpu;
  std::map<const Kernel*, std::vector<Cause>> causes = {};  // of those that fail judging laws on drawn cases
  std::vector<std::string> parts = {};                      // sentences: covering arrays of which only a part was drawn
  std::vector<std::string> changed = {};  // sentences: what explains a kernel in place of what did (before.h)

  /// Every case has run, on the file that lies there. What was found is found if not, but nothing has passed.
  bool is_whole() const { return failure.empty() && !partial && replaced.empty(); }
  bool found() const;
  /// Nothing was found, but not enough was decided to call it a pass.
  bool undecided() const;
  /// Kernels of `results` of which no case was run to its end: a test that tested nothing must not look like one that passed.
  std::vector<const Kernel*> untested() const;
};

/// By the globs of the options. Throws UsageError for one that matches nothing.
std::vector<const Kernel*> chosen_kernels(const Plugin& plugin, const PluginCheck& options);
/// Throws UsageError for a glob that matches nothing; where `replay` is of another problem than every chosen kernel.
PluginReport check_plugin(const Plugin& plugin, const PluginCheck& options);

}  // namespace flashproof
