// Two kernels of this build on the same cases: each case gives a pair, so that what differs is the kernels and nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/compare/comparison.h"
#include "reports/compare/speed/speed.h"
#include "reports/run/plan.h"

namespace flashproof::compare {

struct PairArguments {
  std::string base, head;  // ids; of a seeded fault that has a dose also ID@DOSE
  Filters filters;         // kernels: unused
  SweepTier tier = SweepTier::standard;
  std::uint64_t seed = 0;
  std::string case_text;  // one case instead of the families; empty: none
  std::vector<Executor> executors{Executor::cpu};
  std::string math = "det", profile;
  int jobs = 1;
  int rounds = 0;  // of timing, 0: none
  std::function<void(const std::string&)> say = {};
};

/// What became of one case on both.
struct PairedCase {
  std::string case_line;
  Key key;  // kernel: "BASE -> HEAD"
  CaseClass base{}, head{};
  // By Paired::metrics; empty where nothing was measured.
  std::vector<double> base_figures, head_figures;
  ClassChange classes;
};

/// How many cases are worse on HEAD, and whether a coin would do that.
struct SignTest {
  std::uint64_t worse = 0, better = 0, equal = 0;
  double p = 1;  // two-sided, exact, times the number of tests; at most 1
};

/// Per format x executor x math.
struct PairedGroup {
  Key key;  // family: "*"
  std::uint64_t cases = 0;
  std::vector<SignTest> tests;  // by Paired::metrics, of the cases that both measured
};

struct Paired {
  std::string base, head;            // as given
  std::vector<std::string> metrics;  // "worst error/bound", "worst ulp of o", "mean |error| of o", ...
  std::vector<PairedCase> cases;
  std::vector<PairedGroup> groups;
  /// Those whose class differs, the most harmful first.
  std::vector<const PairedCase*> class_changes() const;
  std::string replay(const PairedCase& one) const;
};

/// `./flashproof compare BASE HEAD --case LINE ...`: both on one case.
std::string pair_command(const std::string& base, const std::string& head, const std::string& case_line,
                         const Key& key);

struct PairRun {
  Document base, head;  // both with the kernel "BASE -> HEAD", to be compared like reports
  Paired paired;
  std::vector<std::pair<BenchFile, BenchFile>> speed;  // empty without rounds
};

/// An id, or ID@DOSE, of this build?
bool names_kernel(std::string_view text);

/// Throws UsageError for unknown ids, a dose that is none, kernels of different problems or without a format in common, and
/// as make_plan(); InfrastructureError if a sweep ends early.
PairRun run_pair(const PairArguments& arguments);

/// Of `cases`, group by group, in the order of their keys.
std::vector<PairedGroup> paired_groups(const std::vector<PairedCase>& cases, std::size_t metrics);
/// Exact: a coin decides each case that is not equal.
SignTest sign_test(std::uint64_t worse, std::uint64_t better, std::uint64_t equal, std::size_t tests);

}  // namespace flashproof::compare
