// The smallest part of a problem that a kernel takes: one that takes whole tiles of rows, or groups of heads, takes none of one.
#pragma once

#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "reference/problem/random.h"

namespace flashproof {

/// first, first + 1, ...: `count` of them.
inline std::vector<std::int64_t> neighbours(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(count));
  std::iota(index.begin(), index.end(), first);
  return index;
}

/// Of `total` that lie in order, `count` neighbours from `first` on, count a divisor of total below it and first a multiple of count:
/// what make(first, count) returns for the least count for which that is something. Where it lies is drawn.
template <class Make>
auto fewest(std::int64_t total, Random& random, Make make) -> decltype(make(total, total)) {
  if (total < 2) return std::nullopt;
  const std::int64_t drawn = random.integer(0, total - 1);
  for (std::int64_t count = 1; count <= total / 2; ++count) {
    if (total % count != 0) continue;
    if (auto part = make(drawn / count * count, count)) return part;
  }
  return std::nullopt;
}

}  // namespace flashproof
