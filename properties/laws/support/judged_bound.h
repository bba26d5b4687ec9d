// The bound that the judging laws hold a kernel's answer against.
#pragma once

#include <optional>
#include <vector>

#include "properties/laws/trial.h"

namespace flashproof {

/// Of a gradient its mode and the errors in its o and lse count, which a relating law does not look at. Throws as
/// compute_bound().
Bound judged_bound(const Kernel& kernel, const Case& subject, CaseTruth& truth);
/// Of a gradient the same of each that its declaration stands for, in the order of Kernel::backward_for(); nullopt: it has no meaning
/// for this problem.
std::vector<std::optional<Bound>> judged_bounds(const Kernel& kernel, const BackwardProblem& problem, CaseTruth& truth);

}  // namespace flashproof
