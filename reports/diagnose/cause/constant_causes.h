// An output that is the same number everywhere: nothing of the input reaches it.
#pragma once

#include <vector>

#include "reports/diagnose/cause/cause.h"
#include "reports/diagnose/looked.h"

namespace flashproof {

/// One cause at most: the outputs that hold one number in every element of every case that was looked at. Closes the open cases
/// whose failing elements are all of these outputs.
std::vector<Cause> by_constants(const Looked& looked, std::vector<bool>& open);

}  // namespace flashproof
