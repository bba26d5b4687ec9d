// What CUDA would refuse before anything runs.
#include <fmt/format.h>

#include <algorithm>

#include "kernels/ptx/run/runtime_state.h"
#include "reference/system/error.h"

namespace flashproof::ptx {

void check_launch(const Translation& entry, const Launch& wanted) {
  const std::string& name = entry.flow.entry.name;
  const auto legal = [&](const char* what, std::uint64_t value, std::uint64_t low, std::uint64_t high) {
    if (value < low || value > high)
      throw UsageError(fmt::format("{}: {}: {}, legal: {} to {}", entry.file, what, value, low, high));
  };
  legal("grid x", wanted.grid.x, 1, kMostBlocks[0]);
  legal("grid y", wanted.grid.y, 1, kMostBlocks[1]);
  legal("grid z", wanted.grid.z, 1, kMostBlocks[2]);
  legal("block x", wanted.block.x, 1, kMostThreads[0]);
  legal("block y", wanted.block.y, 1, kMostThreads[1]);
  legal("block z", wanted.block.z, 1, kMostThreads[2]);
  const std::uint32_t most = entry.flow.entry.max_threads;
  legal("threads of a block", wanted.block.count(), 1, most != 0 ? std::min<std::uint32_t>(most, 1024) : 1024);
  const std::uint32_t* required = entry.flow.entry.required_threads;
  if (required[0] != 0 &&
      (wanted.block.x != required[0] || wanted.block.y != required[1] || wanted.block.z != required[2])) {
    throw UsageError(
        fmt::format("{}: block, wanted by {}: {}, {}, {}", entry.file, name, required[0], required[1], required[2]));
  }
  legal("dynamic shared bytes", wanted.dynamic_shared_bytes, 0,
        static_cast<std::uint64_t>(kMaxSharedBytes - entry.layout.static_shared_bytes));
  const auto bytes = static_cast<std::uint64_t>(entry.flow.entry.parameter_bytes);
  legal("bytes of parameters", wanted.parameters.size(), bytes, bytes);
  legal("instructions at most", static_cast<std::uint64_t>(wanted.max_instructions), 1, INT64_MAX / 4);
}

}  // namespace flashproof::ptx
