// A line of elites.txt run again.
#pragma once

#include <optional>

#include "fuzz/input/elite_line.h"
#include "fuzz/score/score.h"

namespace flashproof {

/// What the line's kernel does with its case today; none: there is no such kernel. Throws UsageError if the family refuses the recipe.
std::optional<Score> score(const EliteLine& line);

}  // namespace flashproof
