// One kernel on one case, as a fuzzer wants it: what went wrong, and how near to its bound each term came.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/score/terms.h"
#include "kernels/registry.h"
#include "kernels/run/run.h"
#include "properties/laws/law.h"
#include "properties/laws/trial.h"
#include "reference/problem/case.h"

namespace flashproof {

/// The worst err/bound of one term.
struct TermRatio {
  std::string_view term;  // name(Term); of a gradient's Peaks name(Part)
  double ratio = 0;
  std::int64_t row = 0, column = 0;  // of the element in its tensor
  double share = 1;                  // of a TermBest; a Peak asks for none

  TermBest best() const { return {ratio, share, row, column}; }
};

struct Score {
  bool ran = false;              // false: the kernel does not take the case, or the family refuses it
  std::vector<TermRatio> terms;  // those that occur, in a fixed order
  std::uint64_t climbed = 0;     // rows of the truth that needed more than the first tier
  Verdict verdict;               // what failed, or pass; `what` says which law
  std::string what;              // of a failure: "exceeds_bound", "merge_commutes:exceeds_bound"
  std::string term;              // of a failure by the bound: the largest term there; else empty
  double ratio = -1;             // of a failure: err/bound of its element; −1: not measured

  bool failed() const { return verdict.failed(); }
  /// Over the terms; −1 without one.
  double worst() const;
};

/// A term's place in Score::terms of any kind, for counters; below kTermSlots. Those of o and lse, then the parts of a gradient.
std::size_t term_slot(std::string_view term);
inline constexpr std::size_t kForwardTerms = static_cast<std::size_t>(Term::dq_weights);
inline constexpr std::size_t kTermSlots = kForwardTerms + 3;

// Guided search drives into the slow tiers of the oracle, where one row may take a second. A verdict that is open after
// these two limits is inconclusive here (a report's judge climbs on); Score::climbed says how many rows climbed.
inline constexpr int kHighestLevel = 3;
inline constexpr std::size_t kMostRows = 8;  // that climb, per case

struct ScoreOptions {
  RunOptions run = {};
  const Law* law = nullptr;    // a relating law that is asked, too; its trial runs under `run`
  bool bests = false;          // Score::terms are the TermBests, which the ledger keeps, and no law is asked
  CaseTruth* truth = nullptr;  // the case's, shared by many kernels; null: this call's own
  std::size_t most_rows = kMostRows;
  int highest_level = kHighestLevel;
};

/// The judging laws, and the relating one that was asked for; of a gradient every relating law. Never throws for what a kernel
/// does.
Score score(const Kernel& kernel, const Case& subject, const ScoreOptions& options);
/// The same of what the kernel answered elsewhere: the judging laws alone. Several threads may call it at once.
Score score_output(const Kernel& kernel, const Case& subject, const Output& output);
/// Two kernels of one problem must agree within both bounds.
Score score_pair(const Kernel& a, const Kernel& b, const Case& subject, const RunOptions& options);
}  // namespace flashproof
