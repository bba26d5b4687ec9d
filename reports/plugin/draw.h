// The cases of a check: of each family the first that the description takes, and further ones, so that everything the description
// takes beyond the plain problem is tested.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "kernels/plugin/description.h"
#include "properties/generators/family.h"
#include "reports/plugin/ask.h"
#include "reports/plugin/kernel_run.h"

namespace flashproof {

struct CoveringCases {
  std::uint64_t drawn;   // cases that a check wants, of the covering array each row once
  std::uint64_t round;   // rows of the covering array; 0: the family has none
  std::uint64_t costly;  // further rows, Family::costly
};
/// Of a family for so many cases of other families (Family::whole).
CoveringCases covering_cases(const Family& family, ProblemKind problem, std::uint64_t cases);

/// Which of the formats of one kernel: they draw the rows of a covering array in turn (Family::draws).
struct Turn {
  std::uint64_t format = 0, formats = 1;
};
/// Of the kernel among those that are checked with it.
Turn turn_of(const Kernel& kernel, std::span<const Kernel* const> checked);

/// Keys of a case spec, by name.
using Keys = std::map<std::string, std::string>;
/// What holds a case to the storage that the description takes.
Keys storage_taken(const Described& described);

/// Of one family, for as many as `cases` of other families, from the seed on, sizes brought within the limits of the description; where
/// it takes none, the first of all, so that it shows. Cases are made by as many threads as `jobs` says, to see which are taken.
std::vector<CaseSpec> draw_cases(KernelRun& run, const Family& family, std::uint64_t seed, std::uint64_t cases,
                                 Turn turn, const Described& described, int jobs = 1);

/// All cases of a run of this kernel, one task per family that serves its problem.
std::vector<PluginTask> draw_tasks(KernelRun& run, const Described& described, std::span<const Family* const> families,
                                   const PluginCheck& options, Turn turn);

/// Adds to the tasks of a kernel, one per family, cases with the capabilities of which the run has fewer than kCasesOfCapability: as
/// the families draw them, then held by keys to the sizes and features that the description takes.
void draw_declared(KernelRun& run, const Described& described, std::uint64_t seed, std::span<PluginTask> tasks);

}  // namespace flashproof
