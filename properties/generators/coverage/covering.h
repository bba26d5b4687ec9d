// Covering arrays: few rows in which every possible pair of levels of two dimensions stands together at least once (Cohen,
// Dalal, Fredman and Patton, The AETG System, IEEE TSE 23(7), 1997: greedy, a few candidates per row).
#pragma once

#include <functional>
#include <vector>

namespace flashproof {

/// Of each dimension the index of a level; kFree: any.
using Levels = std::vector<int>;
inline constexpr int kFree = -1;

/// Whether there is a case with these levels, whatever the free ones are.
using Possible = std::function<bool(const Levels& levels)>;

/// `rows` and as many more as it takes, so that every pair that `possible` allows is in one. counts[i]: how many levels
/// dimension i has. A pure function of its arguments.
std::vector<Levels> cover_pairs(const std::vector<int>& counts, const Possible& possible,
                                std::vector<Levels> rows = {});

}  // namespace flashproof
