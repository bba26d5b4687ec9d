#include "properties/generators/joins.h"

#include <numeric>
#include <utility>

namespace flashproof {
namespace {

/// The node that stands for the states [first, last).
std::int32_t halve(std::vector<Join>& joins, int n, int first, int last) {
  if (last - first == 1) return first;
  const int middle = first + (last - first) / 2;
  const std::int32_t left = halve(joins, n, first, middle);
  const std::int32_t right = halve(joins, n, middle, last);
  joins.push_back({.left = left, .right = right});
  return n + static_cast<std::int32_t>(joins.size()) - 1;
}

void fold(Random& random, std::vector<Join>& joins, int n) {
  const bool from_the_end = random.chance(0.5);
  const bool new_on_the_left = random.chance(0.3);
  for (int k = 1; k < n; ++k) {
    const std::int32_t state = from_the_end ? n - 1 - k : k;
    const std::int32_t kept = k > 1 ? n + k - 2 : from_the_end ? n - 1 : 0;
    joins.push_back(new_on_the_left ? Join{state, kept} : Join{kept, state});
  }
}

}  // namespace

std::vector<Join> draw_joins(Random& random, int n, TreeShape shape) {
  std::vector<Join> joins;
  joins.reserve(static_cast<std::size_t>(n));
  if (shape == TreeShape::balanced) {
    halve(joins, n, 0, n);
  } else if (shape == TreeShape::caterpillar) {
    fold(random, joins, n);
  } else {
    std::vector<std::int32_t> left(static_cast<std::size_t>(n));
    std::iota(left.begin(), left.end(), 0);
    const auto take = [&] {
      const auto at = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(left.size()) - 1));
      std::swap(left[at], left.back());
      const std::int32_t node = left.back();
      left.pop_back();
      return node;
    };
    for (int k = 0; k < n - 1; ++k) {
      const std::int32_t one = take();
      const std::int32_t other = take();
      joins.push_back({.left = one, .right = other});
      left.push_back(n + k);
    }
  }
  return joins;
}

}  // namespace flashproof
