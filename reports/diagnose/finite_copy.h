// A failing case with ordinary numbers in place of NaN and infinity: what a kernel makes of it says whether these were the cause,
// and, if it is wrong all the same, by how much.
#pragma once

#include <optional>

#include "reference/problem/case.h"

namespace flashproof {

/// Of which inputs: v (merges: o of empty states), k, or both and everything behind the keys.
enum class Cleaned : std::uint8_t { values, keys, both };

/// Numbers between -1 and 1 that depend on their place, wherever the storage of these inputs holds NaN or an infinity, gaps and room
/// behind the lengths included. Nothing where there is none, and of a softmax.
std::optional<Case> finite_copy(const Case& subject, Cleaned cleaned);

}  // namespace flashproof
