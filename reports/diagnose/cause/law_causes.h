// What relating laws find: mistakes that no output shows by itself, or that depend on more than the inputs.
#pragma once

#include <span>
#include <vector>

#include "reports/diagnose/cause/cause.h"
#include "reports/diagnose/observation.h"

namespace flashproof {

/// Asks laws about promises that hold whatever the numbers are (the same bits under every schedule, in every workspace, far out in
/// memory, alone and in a batch; nothing from storage that is not the row's). Not laws that compare numbers: a kernel that is
/// wrong fails those for being wrong. Asked on cases that were given as failing alone, whether their numbers show it (`failing`)
/// or not (`unshown`), which are what it counts; none: no cause. One cause at most: the first law that enough of them fail to
/// be sure of, else the first that any fails.
std::vector<Cause> by_laws(const Kernel& kernel, std::span<const Observation* const> failing,
                           std::span<const Observation* const> unshown, Executor executor);

}  // namespace flashproof
