// Classes of shapes: what an elite stands for, and what makes two findings one.
#pragma once

#include <string>

#include "reference/problem/problems.h"

namespace flashproof {

/// What hides keys, the features and the octave of the length that is summed over: "causal bias paged 2^6". For elites.
std::string shape_class(const Problem& problem);

/// "plain", "masked", "featured" or "masked featured": coarse, so that one defect is one finding, and not one per
/// combination of features that has it.
std::string finding_class(const Problem& problem);

}  // namespace flashproof
