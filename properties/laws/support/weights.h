// What the weights of a row are made of, from the inputs alone: which keys, columns or states have one, and their exact
// scores as doubles with a rigorous radius. This says nothing about an output: p = e^{score} / Σ e^{score} is left to who
// compares.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "properties/laws/support/compare.h"
#include "reference/problem/problems.h"

namespace flashproof {

struct RowWeights {
  std::int64_t row = 0;
  std::int64_t sequence = 0, kv_head = 0;  // attention
  std::vector<std::int64_t> key = {};      // those whose weight is not 0: keys, columns of x, states
  std::vector<Measured> score = {};        // of each of them, natural logarithm; empty if not asked for
  double sink = -std::numeric_limits<double>::infinity();

  bool empty() const { return key.empty(); }
};

/// Σ e^{score − most} of a row, with its terms.
struct RowSum {
  double most = 0;
  Measured sum{0, 0};
  std::vector<Measured> weight = {};  // in the order of RowWeights::key
  Measured lse() const { return exactly(most) + log(sum); }
};
/// False if the row is empty or double does not know its weights.
bool sum_of(const RowWeights& row, RowSum& result);

enum class Scores : std::uint8_t { leave, compute };

/// Every ordinary row (change.h), in the order of the rows of a head. The argument lives until the visit returns.
void for_each_row(const Problem& problem, Scores scores, const std::function<void(const RowWeights&)>& visit);

}  // namespace flashproof
