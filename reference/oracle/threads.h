// A parallel loop over independent tasks. Whoever is free takes the next index, so the results must not depend on who
// computes what: every task writes its own outputs.
#pragma once

#include <cstdint>
#include <functional>

namespace flashproof {

class Threads {
 public:
  /// count < 1 means 1.
  explicit Threads(int count = 1) : count_(count < 1 ? 1 : count) {}
  int count() const { return count_; }
  /// body(0) .. body(n − 1), in any order, on up to count() threads (fewer if the system gives no more), each with require_ieee_environment() checked first.
  /// Returns when all are done; the first exception is thrown again after the others have stopped taking tasks.
  void for_each(std::int64_t n, const std::function<void(std::int64_t)>& body) const;

 private:
  int count_;
};

}  // namespace flashproof
