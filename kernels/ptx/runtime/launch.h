// A launch of a registered kernel: the arguments into the layout of the PTX, the run, the report of what was found.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/ptx/run/launch.h"
#include "kernels/ptx/runtime/device.h"

namespace flashproof::cudart {

struct LaunchRequest {
  const void* kernel = nullptr;  // the host's stub
  ptx::Dim grid, block;
  void** arguments = nullptr;  // one address for each parameter of the kernel
  std::uint64_t shared = 0;    // dynamic, bytes
  const void* stream = nullptr;
};

/// Runs the grid to its end. What device code prints goes to stdout. A finding is printed and breaks the device: the launch itself is
/// no error, every later call is, as on a GPU. Throws Refused for a launch that CUDA would refuse.
void launch(Device& device, const LaunchRequest& request);

/// "scale(float*, int)" of the kernel's name in the PTX.
std::string demangled(const std::string& entry);

}  // namespace flashproof::cudart
