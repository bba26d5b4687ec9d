// What the oracle would allocate, before it does.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "reference/problem/problems.h"

namespace flashproof {

/// From above, in bytes; as doubles, which no product of extents overflows.
struct Memory {
  double balls = 0;                            // of every row
  double tiers = 0;                            // what the threads work with
  std::string balls_of, tiers_of;              // "o and lse, 4096 rows x 128"
  std::string balls_argument, tiers_argument;  // the argument whose size drives it: "q axis 2 = 4096"

  double total() const { return balls + tiers; }
};

/// The problem is valid.
Memory memory_of(const Problem& problem, int threads);
/// Of compute_truths: all balls are kept, `threads` problems are worked on at a time.
Memory memory_of(std::span<const Problem> problems, int threads);
/// Throws UsageError if there is too much: the figure, what it is made of, the limit, the argument that drives it.
void require_memory(const Memory& memory, std::int64_t limit);

}  // namespace flashproof
