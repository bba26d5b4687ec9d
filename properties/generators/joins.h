// Trees for merges.
#pragma once

#include <vector>

#include "reference/problem/problems.h"
#include "reference/problem/random.h"

namespace flashproof {

enum class TreeShape : std::uint8_t { balanced, caterpillar, random };

/// n − 1 joins of n states. balanced: halves of the visiting order, whatever n; caterpillar: a fold from one end, now and
/// then with the new state on the left; random: any two nodes that are left, either way round.
std::vector<Join> draw_joins(Random& random, int n, TreeShape shape);

}  // namespace flashproof
