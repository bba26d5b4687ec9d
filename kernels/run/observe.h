// Runs a kernel on the CPU executor under the race shadow (simt/shadow/shadow.h): what it reads and writes, and which accesses
// nothing orders. Slower than run(); links every kernel a second time.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/run/run.h"
#include "kernels/simt/cpu/schedule.h"
#include "kernels/simt/shadow/shadow.h"

namespace flashproof {

struct ObserveOptions {
  simt::Schedule schedule = {};  // a random one may preempt
  bool races = true;
  bool traffic = false;               // elements that are loaded and stored, per input and output
  BlockFma matrix_unit = kHopperF16;  // as RunOptions, like the next
  double dose = 0;
};

struct Observation {
  std::vector<simt::Race> races;  // places; see ScopedShadow::races
  std::uint64_t race_count = 0;   // pairs of accesses
  std::uint64_t accesses = 0;     // to shared memory, inputs, outputs and workspace
  std::vector<simt::Traffic> traffic;
  Output output;
};

/// The kernel of this id, compiled so that the shadow sees its accesses. A registered kernel is, a seeded fault if its diff
/// says so. Throws what run() throws, and UsageError for a kernel that is not built so.
Observation observe(const Kernel& kernel, const Problem& problem, const ObserveOptions& options = {});

}  // namespace flashproof
