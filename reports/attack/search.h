// Guided search for the largest error/bound of every term of one kernel and format.
//
// Starts are recipes of every family at the stated shape, so that each hazard is met; then a (1+1) search per term over the
// raw entries (mutation.h): keep a change if the term's figure rises. Every child is offered to every term.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reference/problem/random.h"
#include "reports/attack/measure.h"
#include "reports/ledger/ledger.h"

namespace flashproof {

class Search {
 public:
  /// `known`: entries of this kernel and format to go on from. Those whose data the kernel does not take any more are
  /// left out.
  Search(const Kernel& kernel, Format format, std::uint64_t seed, const std::vector<LedgerEntry>& known = {});

  /// One evaluation: a start or a step.
  void step();
  std::uint64_t evaluations() const { return evaluations_; }
  /// What it has for every term that occurred, measured once more with Precision::record.
  std::vector<LedgerEntry> entries() const;
  /// The first finite result outside its bound: where it came from and what it says; empty if there was none.
  const std::string& violation() const { return violation_; }
  const Origin& violation_origin() const { return violation_origin_; }

 private:
  struct Parent {
    TermBest best;
    Origin origin;
    Problem problem;
  };

  void start();
  void climb(const Parent& parent);
  void offer(const Origin& origin, const Problem& problem);
  bool takes(const Problem& problem) const;

  const Kernel& kernel_;
  Format format_;
  Random random_;
  std::uint32_t next_seed_;
  std::array<std::optional<Parent>, kTerms> parents_;
  std::size_t turn_ = 0;
  std::uint64_t evaluations_ = 0;
  std::string violation_;
  Origin violation_origin_;
};

/// A recipe at the stated shape (README.md); every entry of the case is finite, no row is shorter. Empty if the family
/// has none at this seed.
std::optional<Case> full_case(const CaseSpec& spec);

}  // namespace flashproof
