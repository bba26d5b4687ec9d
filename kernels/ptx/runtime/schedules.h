// A launch in one order of blocks and warps, or in two, of which the memory must be the same.
#pragma once

#include "kernels/ptx/run/program.h"
#include "kernels/ptx/runtime/settings.h"

namespace flashproof::cudart {

/// The launch in the settings' order. both: from the first to the last, then from the same memory from the last to the first; the first
/// array whose bytes then differ is a finding, and the memory is the second run's.
ptx::LaunchResult run_in_order(ptx::Program& program, ptx::Launch launch, Order order);

}  // namespace flashproof::cudart
