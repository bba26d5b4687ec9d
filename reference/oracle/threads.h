// A parallel loop over independent tasks. A free thread takes the next index, so the results must not depend on which one
// computes what: every task writes its own outputs.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace flashproof {

/// Threads that stay between one loop and the next: starting sixteen takes as long as ten thousand small tasks.
class Team {
 public:
  /// The caller of for_each() and count − 1 others, fewer if the system gives no more.
  explicit Team(std::int64_t count = 1);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// body(0) .. body(n − 1), begun in this order, each thread with require_ieee_environment() checked first. Returns when all
  /// are done; the first exception is thrown again after the others have stopped taking tasks. Not to be called within itself.
  void for_each(std::int64_t n, const std::function<void(std::int64_t)>& body);

 private:
  void help();
  void work();

  std::vector<std::thread> helpers_;  // no jthread: libc++ had none before version 20
  std::mutex mutex_;
  std::condition_variable begun_, ended_;
  // Under the mutex.
  std::uint64_t loops_ = 0;
  std::size_t working_ = 0;  // helpers that have not ended the loop
  bool leaving_ = false;
  std::exception_ptr failure_;
  // Of the loop.
  const std::function<void(std::int64_t)>* body_ = nullptr;
  std::int64_t n_ = 0;
  std::atomic<std::int64_t> next_ = 0;
};

/// How many a loop may take, started for it and gone after it.
class Threads {
 public:
  /// count < 1 means 1.
  explicit Threads(int count = 1) : count_(count < 1 ? 1 : count) {}
  int count() const { return count_; }
  /// As Team's.
  void for_each(std::int64_t n, const std::function<void(std::int64_t)>& body) const {
    Team(n < count_ ? n : count_).for_each(n, body);
  }

 private:
  int count_;
};

}  // namespace flashproof
