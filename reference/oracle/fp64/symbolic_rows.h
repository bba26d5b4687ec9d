// The rows of softmax and merge that have no number: what the vector code leaves to rows.h.
#pragma once

#include <cstdint>
#include <span>

#include "reference/oracle/rows.h"
#include "reference/oracle/truth.h"

namespace flashproof::rows64 {

/// Sets truth row p from output row rows[p] where symbolic[p] != 0. One thread: the classes of Balls appear when the first
/// of them is set.
template <class Problem>
void set_symbolic_rows(const Problem& problem, std::span<const std::int64_t> rows, std::span<const char> symbolic,
                       Truth& truth) {
  RowKeys keys;
  for (std::size_t p = 0; p < rows.size(); ++p) {
    if (symbolic[p] == 0) continue;
    RowBalls balls;
    collect_keys(problem, rows[p], keys);
    symbolic_row(problem, rows[p], keys, balls);
    truth.set_row(static_cast<std::int64_t>(p), balls);
  }
}

}  // namespace flashproof::rows64
