// What relating laws find: mistakes that no output shows by itself, or that depend on more than the inputs.
#pragma once

#include <deque>
#include <vector>

#include "reports/diagnose/cause.h"
#include "reports/diagnose/observation.h"

namespace flashproof {

/// Asks laws about promises that hold whatever the numbers are (the same bits under every schedule, in every workspace, far out in
/// memory, alone and in a batch; nothing from storage that is not the row's). Not laws that compare numbers: a kernel that is
/// wrong fails those for being wrong. One cause at most: the first law that fails.
std::vector<Cause> by_laws(const Kernel& kernel, const std::deque<Observation>& failing,
                           const std::deque<Observation>& passing, Executor executor);

}  // namespace flashproof
