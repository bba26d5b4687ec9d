// What the oracle would allocate, before it does.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "reference/oracle/truth.h"
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

/// Oracle::row keeps what it computed until that takes more than kMostKept bytes; then it begins again.
inline constexpr std::int64_t kMostKept = 32 << 20;
/// Of one row of `width` that is kept: its balls, and the node that holds them, from above.
constexpr std::int64_t kept_row_bytes(std::int64_t width) {
  return width * static_cast<std::int64_t>(sizeof(Ball)) + 256;
}

/// The problem is valid.
Memory memory_of(const Problem& problem, int threads);
/// Of compute_truths: all balls are kept, `threads` problems are worked on at a time.
Memory memory_of(std::span<const Problem> problems, int threads);
/// Throws UsageError if there is too much: the figure, what it is made of, the limit, the argument that drives it.
void require_memory(const Memory& memory, std::int64_t limit);

}  // namespace flashproof
