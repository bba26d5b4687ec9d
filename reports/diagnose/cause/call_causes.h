// What differs between calls with the same arguments: no guess about what one call computes explains that.
#pragma once

#include <vector>

#include "reports/diagnose/cause/cause.h"
#include "reports/diagnose/looked.h"

namespace flashproof {

/// Makes calls of foreign kernels again: of failing cases, and of those that were given as failing and did not fail (Looked::again,
/// Looked::unshown_fail). Several times in the same process, then some of them as the first call of a new one, where the kernel has a
/// process of its own. Kernels of this project keep nothing between calls.
void call_again(Looked& looked);

/// The open cases that came out so, which it closes. One cause at most. It is a fact about each of them, no guess: one is enough.
std::vector<Cause> by_calls(const Looked& looked, Again how, std::vector<bool>& open);

}  // namespace flashproof
