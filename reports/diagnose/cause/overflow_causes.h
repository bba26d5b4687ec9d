// Exponentials of scores from which no maximum is subtracted: right where e^score is a number of f32, lost beyond.
#pragma once

#include <vector>

#include "reports/diagnose/cause/cause.h"
#include "reports/diagnose/looked.h"

namespace flashproof {

/// One cause at most, of forward kernels: rows fail where the largest score has no exponential in f32, and no row passes whose
/// largest score is beyond that. Closes the open cases of which this is so of every failing row.
std::vector<Cause> by_overflow(const Kernel& kernel, const Looked& looked, std::vector<bool>& open);

}  // namespace flashproof
