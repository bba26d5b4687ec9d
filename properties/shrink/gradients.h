// Smaller gradient problems that still fail. The forward problem is made simpler as shrink.h does it; the rows and columns that
// this keeps are kept of dO, whose numbers are then made simpler, too. o and lse are always those of the forward problem
// that is left, as an ideal forward kernel stores them.
#pragma once

#include <functional>

#include "properties/shrink/shrink.h"
#include "reference/problem/backward.h"

namespace flashproof {

/// Of the forward problem and dO together; o and lse follow from them.
Complexity complexity(const BackwardProblem& problem);

/// Calls `use` for one valid and simpler problem after another, until it returns false or there are no more.
void for_each_simpler(const BackwardProblem& problem, const std::function<bool(BackwardProblem)>& use);

/// The simplest problem that the search finds for which `fails` is still true: greedy, at most `tries` calls of it, and it ends
/// when stop() is true, since a candidate costs the truth of a forward problem. fails(problem) itself must be true.
BackwardProblem minimise(BackwardProblem problem, const std::function<bool(const BackwardProblem&)>& fails, int tries,
                         const std::function<bool()>& stop = {});

}  // namespace flashproof
