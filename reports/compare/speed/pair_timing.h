// How long two kernels take on the CPU executor, in rounds of both.
#pragma once

#include <string>
#include <utility>

#include "kernels/registry.h"
#include "kernels/run/run.h"
#include "reports/compare/speed/speed.h"
#include "reports/run/plan.h"

namespace flashproof::compare {

/// Seconds for at most kTimedCases of the plan's cases, evenly spread, one sum per round and format; BASE and HEAD take
/// turns at going first. Cases that one of the two refuses are left out. The result's files are rounds of each other.
std::pair<BenchFile, BenchFile> time_pair(const Kernel& base, const Kernel& head, const Plan& plan,
                                          const std::string& label, int rounds);

inline constexpr std::size_t kTimedCases = 32;

}  // namespace flashproof::compare
