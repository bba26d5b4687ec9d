// One problem through the C ABI: structures, memory between zones, the call in the process of the library, and what it did to that
// memory.
#pragma once

#include <string>

#include "kernels/plugin.h"
#include "kernels/plugin/plugin_process.h"
#include "kernels/run/run.h"

namespace flashproof {

/// Which kernel of a library, and how it is called.
struct ForeignKernel {
  std::uint32_t index;  // in the library's list
  std::string id;
  bool on_device;
  bool has_workspace;  // it has a function workspace_bytes
  Returns returns;
  std::size_t alignment = 1;  // bytes, of the first element of each tensor; never less than the element has
};

/// Runs the kernel on a problem that it takes. Of `options` the workspace's fill, the placement and a new process count. What `returns` leaves out is poison.
/// Throws UsageError where the kernel returns FLASHPROOF_UNSUPPORTED; KernelFault where it returns an error or anything else
/// that is not FLASHPROOF_OK, throws, wrote where it must not, or where its process ended, hung or forked; InfrastructureError.
Output call_plugin(PluginProcess& process, const ForeignKernel& kernel, const Problem& problem,
                   const RunOptions& options);

}  // namespace flashproof
