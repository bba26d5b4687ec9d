// The rows of one (sequence, kv head): passes over the keys, special values, rows that need an exact reference.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "reference/oracle/fp64/head_chunk.h"

namespace flashproof::attention64 {

/// Kept from call to call by each thread up to this size: small cases would spend their time in page faults.
inline constexpr std::int64_t kKeptDoubles = std::int64_t{1} << 19;
/// Keys that the lists of special rows may hold at a time, but for kGroup rows at least.
inline constexpr std::int64_t kListedKeys = std::int64_t{1} << 20;

/// Keys per chunk. The same for every row and every machine, because the sums depend on it.
std::int64_t chunk_capacity(const AttentionProblem& problem, const AttentionOptions& options);

/// A row whose answer, or a column of it, is no plain ball.
struct Note {
  std::int64_t place;
  RowBalls balls;
};

/// One fp64_attention call.
struct Call {
  const AttentionProblem& problem;
  const AttentionOptions& options;
  Truth& truth;
  std::span<RowCause> cause;
  std::mutex mutex;
  std::vector<Note> notes;  // entered by any thread, applied at the end: each place once

  std::int64_t padded() const { return round_up(problem.value_dim(), kPanel); }
  void note(std::int64_t place, RowBalls balls) {
    const std::lock_guard lock(mutex);
    notes.push_back({place, std::move(balls)});
  }
};

/// Sums and balls of all rows, whose place, row and visible range are set.
void run_head(Call& call, std::int64_t sequence, std::int64_t kv_head, const Threads& threads,
              std::span<RowState> rows);

}  // namespace flashproof::attention64
