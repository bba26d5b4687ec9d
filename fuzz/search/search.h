// Guided search for the largest error/bound of every term of one kernel and format, at the ledger's shape and in this process.
//
// Starts are recipes of every family, so that each hazard is met; then a climb. Every child is offered to every term.
#pragma once

#include <cstdint>
#include <string>

#include "fuzz/search/climb.h"
#include "kernels/registry.h"

namespace flashproof {

class Search {
 public:
  Search(const Kernel& kernel, Format format, std::uint64_t seed);

  /// One evaluation: a start or a step.
  void step();
  /// Runs the case. It may be one that an earlier search found; step() goes on from the best.
  void offer(ClimbCandidate candidate);
  std::uint64_t evaluations() const { return evaluations_; }
  const Kernel& kernel() const { return kernel_; }
  Format format() const { return format_; }
  /// Of every term that occurred the best; with their problems.
  const std::vector<Climb::Parent>& best() const { return climb_.parents(); }
  /// The first finite result outside its bound, or a run that broke down: what it says, empty if there was none, and of which case.
  const std::string& violation() const { return violation_; }
  const Origin& violation_origin() const { return violation_origin_; }

 private:
  void start();

  const Kernel& kernel_;
  Format format_;
  Random random_;
  Climb climb_;
  std::uint64_t evaluations_ = 0;
  std::string violation_;
  Origin violation_origin_;
};

}  // namespace flashproof
