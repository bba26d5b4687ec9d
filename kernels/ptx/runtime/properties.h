// What the device says of itself: an H100's limits, with the settings' capability and memory.
#pragma once

#include <optional>

#include "kernels/ptx/runtime/abi.h"
#include "kernels/ptx/runtime/device.h"

namespace flashproof::cudart {

abi::DeviceProp properties_of(const Device& device);

/// By the number of cudaDeviceAttr; nothing for one that is not known here.
std::optional<int> attribute_of(const Device& device, int attribute);

}  // namespace flashproof::cudart
