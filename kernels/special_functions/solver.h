// Finds a segment's coefficients from measured outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/special_functions/segment.h"

namespace flashproof::special {

/// What the outputs say of one segment: low[x] <= a + b·x + c·squares[x] <= high[x], x = 0, 1, ...
struct Evidence {
  std::vector<std::int64_t> low, high;
  std::vector<std::int64_t> squares;

  explicit Evidence(std::size_t inputs) : low(inputs), high(inputs), squares(inputs) {}
};

/// Integers that satisfy all of it, with the most room above and below; nothing if there are none. The room,
/// min(high − bx − cs) − max(low − bx − cs), is concave in (b, c), and the curve through the outputs is close: c is tried
/// in a window round its second difference, b by bisection.
std::optional<Segment> solve(const Evidence& evidence);

}  // namespace flashproof::special
