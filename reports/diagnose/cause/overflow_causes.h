// Exponentials of scores from which no maximum is subtracted, or the maximum of q.k times a negative scale, the least of them: right
// where the result is a number of f32, lost beyond.
#pragma once

#include <vector>

#include "reports/diagnose/cause/cause.h"
#include "reports/diagnose/looked.h"

namespace flashproof {

/// Of forward kernels: rows fail where the largest exponent has no exponential in f32, and no row fails elsewhere. Closes the open cases
/// of which this is so of every failing row.
std::vector<Cause> by_overflow(const Kernel& kernel, const Looked& looked, std::vector<bool>& open);

}  // namespace flashproof
