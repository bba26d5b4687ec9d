// One problem through the C ABI: structures, memory between zones, the call, and what it did to that memory.
#pragma once

#include <cfenv>

#include "kernels/plugin.h"
#include "kernels/run.h"

namespace flashproof {

/// Runs the kernel on a problem that it takes; where its tensors must lie follows from its device_type. `environment` is the
/// floating-point environment for the call; the caller's is restored. Of `options` the workspace's fill counts. What
/// `returns` leaves out is the rounded truth. Throws UsageError where the kernel returns FLASHPROOF_UNSUPPORTED; KernelFault where
/// it returns an error or anything else that is not FLASHPROOF_OK, throws, or wrote where it must not; InfrastructureError.
Output call_plugin(const flashproof_kernel& kernel, const std::fenv_t& environment, Returns returns,
                   const Problem& problem, const RunOptions& options);

}  // namespace flashproof
