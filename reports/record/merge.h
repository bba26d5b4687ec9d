// Several reports as one: runs side by side, the cases of one kernel x format x executor x math x family together.
#pragma once

#include <string>
#include <vector>

#include "reports/record/read_report.h"

namespace flashproof {

struct MergeOptions {
  bool allow_partial = false;  // take runs that ended early
};

/// The same report, to the bit, for every order of the files. Throws UsageError for what read_report() refuses, for a run
/// or a case that is there twice (its elements would count twice), for a partial run unless it is allowed, for runs of two GPUs or
/// profiles, and for kill tables or benchmarks that differ.
Report merge_reports(const std::vector<std::string>& files, const MergeOptions& options, KernelNames& names);

/// The facts of their environments in which runs differ, by their names in the report.
std::vector<std::string> differing_facts(const std::vector<Run>& runs);

}  // namespace flashproof
