// Chunk boundaries and visiting orders.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reference/problem/problems.h"
#include "reference/problem/random.h"

namespace flashproof {

/// Permutation number `index` of 0..n-1 in lexicographic order: 0 is forward, n!-1 is reverse. n <= 20, index < n!.
std::vector<std::int32_t> permutation(int n, std::uint64_t index);

/// `key` is the value of the key "order" (forward, reverse, random or an index), if given. Otherwise, up to four
/// chunks, permutation `index` mod n!, so that a sweep over seeds reaches all of them; beyond four a shuffle, and now
/// and then forward or reverse. Throws UsageError for an index that n chunks do not have.
std::vector<std::int32_t> draw_order(Random& random, int n, std::uint64_t index, const std::optional<std::string>& key);

/// Boundaries 0 < ... < length of chunks no longer than `size`: equal ones, or of random lengths 1..size.
std::vector<std::int32_t> draw_boundaries(Random& random, std::int64_t length, std::int64_t size, bool irregular);

/// Boundaries of exactly n chunks, 1 <= n <= length.
std::vector<std::int32_t> draw_cuts(Random& random, std::int64_t length, int n);

/// n chunks of one key each: how the states of a merge look to a family.
ChunkPlan state_plan(const std::vector<std::int32_t>& order);

}  // namespace flashproof
