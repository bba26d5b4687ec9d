// The threads of a block that can run, oldest first, and the choice among them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/simt/cpu/executor.h"

namespace flashproof::simt {

struct Thread;

class RunQueue {
 public:
  void clear(ScopedSchedule* schedule) {
    schedule_ = schedule;
    policy_ = schedule == nullptr ? Policy::fifo : schedule->policy();
    front_ = back_ = 0;
  }
  bool empty() const { return front_ == back_; }
  Policy policy() const { return policy_; }
  void push(Thread* thread) { at(back_++) = thread; }

  /// Takes the thread that runs next. The queue must not be empty.
  Thread* pop() {
    if (policy_ == Policy::lifo) return at(--back_);
    if (policy_ != Policy::fifo && back_ - front_ > 1) choose();
    return at(front_++);
  }

 private:
  static constexpr std::uint32_t kCapacity = 1024;  // the largest block; a thread is in the queue at most once

  Thread*& at(std::uint32_t position) { return ring_[position % kCapacity]; }

  /// Moves the chosen thread to the front.
  void choose() {
    const std::uint32_t runnable = back_ - front_;
    if (policy_ == Policy::random) {
      // Top 32 bits scaled to the range: off uniform by less than 2^-22 for 1024 threads.
      const auto chosen = static_cast<std::uint32_t>(((schedule_->next_random() >> 32) * runnable) >> 32);
      std::swap(at(front_), at(front_ + chosen));
      return;
    }
    std::uint8_t byte = 0;
    if (!schedule_->next_byte(byte)) return;
    const std::uint32_t chosen = byte % runnable;
    Thread* const thread = at(front_ + chosen);
    for (std::uint32_t i = chosen; i > 0; --i) at(front_ + i) = at(front_ + i - 1);  // the others keep their order
    at(front_) = thread;
  }

  std::array<Thread*, kCapacity> ring_{};
  std::uint32_t front_ = 0, back_ = 0;  // run on past the capacity; only their difference and remainder matter
  Policy policy_ = Policy::fifo;
  ScopedSchedule* schedule_ = nullptr;
};

}  // namespace flashproof::simt
