// How levels of attention become numbers: pairs_attention.cc makes its cases of them, pairs_gradient.cc those of the gradient.
#pragma once

#include <algorithm>

#include "properties/generators/coverage/pairs.h"

namespace flashproof::pairwise {

/// Products of the two sums where no two levels ask for more.
inline constexpr std::int64_t kProducts = std::int64_t{1} << 17;

Numbers plain_attention();
/// Numbers that free dimensions have beside these levels.
Numbers simplest_attention(const Levels& levels);
std::int64_t most_products(const Levels& levels);
bool attention_fits(Numbers& numbers, std::int64_t most_products);
/// One sequence, and that without a key, shows nothing: it is drawn, but its row covers no other pair.
bool has_no_key(const Levels& levels);
inline bool of_more_than_a_pair(const Levels& levels) {
  return std::ranges::count(levels, kFree) < std::ssize(levels) - 2;
}

}  // namespace flashproof::pairwise
