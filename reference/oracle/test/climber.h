// The slower tiers of one problem, made when a row first needs them.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "reference/oracle/escalation.h"
#include "reference/oracle/tiers.h"

namespace flashproof {

/// Not thread-safe. The problem must outlive it.
class Climber {
 public:
  explicit Climber(const Problem& problem) : problem_(problem) {}
  RowBalls row(std::int64_t row, const Step& step) {
    std::unique_ptr<RowTier>& tier = step.tier == Tier::exact ? exact_ : double_double_;
    if (!tier) tier = step.tier == Tier::exact ? exact_tier(problem_) : double_double_tier(problem_);
    return tier->row(row, step.tier, step.bits);
  }

 private:
  const Problem& problem_;
  std::unique_ptr<RowTier> double_double_, exact_;
};

/// One climber per worker: who needs one takes it and brings it back, so that what it keeps of a head serves the next
/// row. Which worker computes a row makes no difference to the row.
class Climbers {
 public:
  explicit Climbers(const Problem& problem) : problem_(problem) {}
  std::unique_ptr<Climber> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<Climber>(problem_);
    std::unique_ptr<Climber> climber = std::move(idle_.back());
    idle_.pop_back();
    return climber;
  }
  void bring_back(std::unique_ptr<Climber> climber) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(climber));
  }

 private:
  const Problem& problem_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Climber>> idle_;
};

}  // namespace flashproof
