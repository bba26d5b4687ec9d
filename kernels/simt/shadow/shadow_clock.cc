#include "kernels/simt/shadow/shadow_clock.h"

#include <algorithm>
#include <bit>

namespace flashproof::simt {

void learn(Knowledge& knowledge, const Known& fact) {
  for (Known& known : knowledge) {
    if (known.who == fact.who && known.whole_block == fact.whole_block && known.for_block_only == fact.for_block_only) {
      known.until = std::max(known.until, fact.until);
      return;
    }
  }
  knowledge.push_back(fact);
}

void learn(Knowledge& knowledge, const Knowledge& other) {
  for (const Known& fact : other) learn(knowledge, fact);
}

void Clock::start_launch() {
  now_ = 1;
  size_ = kMaxThreads;  // all lists below, whatever the block before
  start_block(0, kMaxThreads);
}

void Clock::start_block(std::uint32_t ordinal, unsigned threads) {
  ordinal_ = ordinal;
  barrier_ = now_++;
  if (lists_) {
    block_.clear();
    for (unsigned i = 0; i < size_; ++i) {
      threads_[i].acquired.clear();
      threads_[i].read.clear();
      threads_[i].released.clear();
    }
    lists_ = false;
  }
  size_ = threads;
  for (unsigned i = 0; i < threads; ++i) threads_[i].lanes.fill(0);
}

void Clock::barrier() {
  barrier_ = now_++;
  if (!lists_) return;
  for (unsigned i = 0; i < size_; ++i) {
    learn(block_, threads_[i].acquired);
    threads_[i].acquired.clear();
  }
}

void Clock::join_lanes(unsigned first, std::uint32_t mask) {
  const Stamp stamp = now_++;
  std::array<Stamp, kLanes> joined{};
  Knowledge acquired;
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const Thread& lane = threads_[first + static_cast<unsigned>(std::countr_zero(rest))];
    for (unsigned i = 0; i < kLanes; ++i) joined[i] = std::max(joined[i], lane.lanes[i]);
    if (lists_) learn(acquired, lane.acquired);
  }
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    joined[static_cast<unsigned>(std::countr_zero(rest))] = stamp;
  }
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    Thread& lane = threads_[first + static_cast<unsigned>(std::countr_zero(rest))];
    lane.lanes = joined;
    if (lists_) lane.acquired = acquired;
  }
}

void Clock::fence(unsigned thread, bool whole_device) {
  lists_ = true;
  Thread& self = threads_[thread];
  learn(self.acquired, self.read);
  self.read.clear();
  const Stamp stamp = now_++;
  const bool narrow = !whole_device;
  Knowledge known = {{id(thread), false, narrow, stamp}, {id(0), true, narrow, barrier_}};
  const unsigned first = thread / kLanes * kLanes;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (self.lanes[lane] > barrier_) learn(known, {id(first + lane), false, narrow, self.lanes[lane]});
  }
  for (const Knowledge* list : {&block_, &self.acquired}) {
    for (Known fact : *list) {
      fact.for_block_only = fact.for_block_only || narrow;
      learn(known, fact);
    }
  }
  learn(self.released, known);
}

void Clock::atomic(unsigned thread, Knowledge& released) {
  if (!lists_ && released.empty()) return;
  lists_ = true;
  Thread& self = threads_[thread];
  for (const Known& fact : released) {
    if (!fact.for_block_only || block_of(fact.who) == ordinal_) learn(self.read, fact);
  }
  learn(released, self.released);
}

bool Clock::listed(ThreadId who, Stamp stamp, ThreadId self) const {
  const auto covers = [&](const Known& known) {
    return stamp <= known.until && (known.whole_block ? block_of(known.who) == block_of(who) : known.who == who);
  };
  return std::ranges::any_of(block_, covers) || std::ranges::any_of(threads_[number_of(self)].acquired, covers);
}

}  // namespace flashproof::simt
