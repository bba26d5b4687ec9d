// Failing cases that a hypothesis explains.
#pragma once

#include <vector>

#include "reports/diagnose/cause/cause.h"
#include "reports/diagnose/looked.h"

namespace flashproof {

/// Of fewer than this share of the failing cases nothing is said with confidence: what a larger defect leaves behind looks like
/// many things.
inline constexpr double kConfidentShare = 0.25;

/// One cause per hypothesis that explains cases which `open` still has, those of most cases first; takes them out of `open`. Of
/// several that explain the same: one that has to hold everywhere before one that holds in some rows, then the simpler; of those that
/// explain by a wider bound the narrowest.
std::vector<Cause> by_hypotheses(const Kernel& kernel, const Looked& looked, std::vector<bool>& open);

}  // namespace flashproof
