// A failing case with ordinary numbers in place of NaN and infinity: what a kernel makes of it says whether these were the cause,
// and, if it is wrong all the same, by how much.
#pragma once

#include <optional>

#include "reference/problem/case.h"

namespace flashproof {

/// Of which inputs. The first three: of keys that no query sees and of what lies beside and behind the keys, v (merges: o of states
/// with lse = -inf), k, or both. everything: k and v (merges: o), what counts included.
enum class Cleaned : std::uint8_t { values, keys, both, everything };

/// Numbers between -1 and 1 that depend on their place, wherever this part of the storage holds NaN or an infinity, gaps and room
/// behind the lengths included. Nothing where there is none, and of a softmax.
std::optional<Case> finite_copy(const Case& subject, Cleaned cleaned);

}  // namespace flashproof
