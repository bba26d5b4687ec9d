// What is planted, a NaN of either sign, and where that begins: one element of a range of keys, or a chunk of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "reference/problem/problems.h"
#include "reference/problem/random.h"

namespace flashproof {

struct KeyRange {
  std::int64_t first, end;
};

/// The first, the last or any of them.
inline std::int64_t one_of(KeyRange range, Random& random) {
  const std::int64_t last = range.end - 1;
  const std::int64_t which = random.integer(0, 2);
  return which == 0 ? range.first : which == 1 ? last : random.integer(range.first, last);
}

/// A chunk of the plan, as much as lies in the range; all of the range if nothing of it does.
inline KeyRange chunk_in(KeyRange range, const ChunkPlan& plan, Random& random) {
  const auto c = static_cast<std::size_t>(random.integer(0, std::max(plan.chunks() - 1, 0)));
  const KeyRange chunk{std::max<std::int64_t>(range.first, plan.boundary[c]),
                       std::min<std::int64_t>(range.end, plan.boundary[c + 1])};
  return chunk.first < chunk.end ? chunk : range;
}

/// A NaN, or +inf. NaN is of either sign, by its place: a kernel that asks the bits for one pattern shows.
inline void plant_at(Tensor& tensor, std::int64_t offset, double special) {
  const std::uint64_t negative = std::isnan(special) ? static_cast<std::uint64_t>(offset) & 1 : 0;
  tensor.set_bits(offset, encode(tensor.format, special) | negative << (info(tensor.format).bits - 1));
}

}  // namespace flashproof
