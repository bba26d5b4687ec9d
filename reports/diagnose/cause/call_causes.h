// What differs between calls with the same arguments: no guess about what one call computes explains that.
#pragma once

#include <vector>

#include "reports/diagnose/cause/cause.h"
#include "reports/diagnose/looked.h"

namespace flashproof {

/// Calls every failing case again, several times in the same process and then, behind all others, as the first call of a new one
/// (plugins), and the cases that were given as failing and did not: Looked::again, and Looked::unshown_fail. Kernels of this project
/// are not called again: they keep nothing between calls.
void call_again(Looked& looked);

/// Cases that came out so, and are open. They are facts about these cases: sure of however few, as long as they are a quarter.
std::vector<Cause> by_calls(const Looked& looked, Again how, std::vector<bool>& open);

}  // namespace flashproof
