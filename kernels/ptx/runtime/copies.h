// Copies and fills: who may be written, who read, in which direction.
#pragma once

#include <cstddef>

#include "kernels/ptx/runtime/device.h"

namespace flashproof::cudart {

/// Numbered as cudaMemcpyKind is.
enum class Direction : int { host_to_host, host_to_device, device_to_host, device_to_device, any };

/// Rows of `width` bytes, each `pitch` bytes behind the one before.
struct Rows {
  std::size_t width = 0, height = 1;
};

/// Copies at once. Throws Refused where a side of the device does not lie in one allocation, and where the device's memory stands for the host's.
void copy(Device& device, void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, Rows rows,
          int direction);
inline void copy(Device& device, void* to, const void* from, std::size_t bytes, int direction) {
  copy(device, to, bytes, from, bytes, {bytes, 1}, direction);
}

/// Throws Refused where the rows do not lie in one allocation.
void fill(Device& device, void* to, std::size_t pitch, int value, Rows rows);

}  // namespace flashproof::cudart
