// The cases of a run as workers take them: in pieces, so that none works on while the others have nothing left to do.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "reference/problem/problems.h"
#include "reports/plugin/ask.h"

namespace flashproof {

/// How long a case takes beside others, in products of two numbers; so many at least, for what every case takes.
inline constexpr double kLeastWork = 0x1p17;
/// Whatever the others take: soon done.
inline constexpr double kSoonDone = 0x1p22;
double work_of(const Problem& problem);

/// The work of a case of a task.
using WorkOf = std::function<double(const PluginTask& task, const CaseSpec& spec)>;

/// The same cases in the same order, each task cut where its work exceeds a small share of the whole. A task with data stays one.
std::vector<PluginTask> in_pieces(std::vector<PluginTask> tasks, const WorkOf& work);

/// In which order they begin: small ones as they stand, since a wrong kernel fails most of them; then the others, the largest first,
/// so that what is left at the end is short.
std::vector<std::uint64_t> turns(std::span<const PluginTask> pieces, const WorkOf& work);

}  // namespace flashproof
