// Who knows what of whom: the happens-before order of the threads of a launch, with one running number instead of a
// vector clock per thread.
//
// The executor interleaves, so one counter can stamp every synchronisation of the launch. What a thread knows of another
// is then the last stamp of its accesses that are ordered before: for the threads of the block the last barrier, for the
// lanes of the warp one number each, for anybody else (fences and atomics) a short list.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/simt/block.h"

namespace flashproof::simt {

/// Thread number below, the block's place in the order of the run above.
using ThreadId = std::uint32_t;
inline constexpr unsigned kThreadBits = 10;
inline constexpr std::uint32_t kMaxShadowBlocks = 1u << (32 - kThreadBits);
constexpr std::uint32_t block_of(ThreadId id) { return id >> kThreadBits; }
constexpr unsigned number_of(ThreadId id) { return id & (kMaxThreads - 1); }
constexpr bool same_warp(ThreadId a, ThreadId b) { return a / kLanes == b / kLanes; }

using Stamp = std::uint32_t;
inline constexpr Stamp kNever = 0;             // no access
inline constexpr Stamp kUnderWay = ~Stamp{0};  // an asynchronous copy that no thread has waited for

/// Everything that `who` did up to and including `until`.
struct Known {
  ThreadId who;
  bool whole_block;     // every thread of the block of `who`
  bool for_block_only;  // __threadfence_block: nothing for other blocks
  Stamp until;
};
using Knowledge = std::vector<Known>;

/// Adds; of two entries for the same thread the later one stays.
void learn(Knowledge& knowledge, const Known& fact);
void learn(Knowledge& knowledge, const Knowledge& other);

class Clock {
 public:
  /// The stamp of accesses now.
  Stamp now() const { return now_; }

  void start_launch();
  void start_block(std::uint32_t ordinal, unsigned threads);
  void barrier();
  /// `mask` in the warp whose lane 0 is thread `first`.
  void join_lanes(unsigned first, std::uint32_t mask);
  void fence(unsigned thread, bool whole_device);
  /// An atomic of `thread` on a place that holds `released`.
  void atomic(unsigned thread, Knowledge& released);

  /// Whether an access of `who` at `stamp` happens before what `self`, a thread of the running block, does now.
  bool ordered(ThreadId who, Stamp stamp, ThreadId self) const {
    if (stamp == kUnderWay) return false;
    if (who == self) return true;
    if (block_of(who) == ordinal_) {
      if (stamp <= barrier_) return true;
      if (same_warp(who, self) && stamp <= threads_[number_of(self)].lanes[who % kLanes]) return true;
    }
    return lists_ && listed(who, stamp, self);
  }
  Stamp last_barrier() const { return barrier_; }

 private:
  struct Thread {
    std::array<Stamp, kLanes> lanes{};  // of its warp
    Knowledge acquired;
    Knowledge read;      // by atomics; acquired at the next fence
    Knowledge released;  // at the last fence; handed on by every atomic after it
  };
  bool listed(ThreadId who, Stamp stamp, ThreadId self) const;
  ThreadId id(unsigned thread) const { return ordinal_ << kThreadBits | thread; }

  std::array<Thread, kMaxThreads> threads_;
  Knowledge block_;  // acquired by some thread before the last barrier
  Stamp now_ = 1, barrier_ = 0;
  std::uint32_t ordinal_ = 0;
  unsigned size_ = 0;
  bool lists_ = false;  // some list is not empty
};

}  // namespace flashproof::simt
