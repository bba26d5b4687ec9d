// Launches by name, and what is asked about a kernel.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernels/ptx/runtime/abi.h"
#include "kernels/ptx/runtime/device.h"
#include "kernels/ptx/runtime/launch.h"

using namespace flashproof::cudart;

namespace {

/// Of cudaLaunchAttributeID: those that change what a kernel computes. The others are hints, or orders that are kept anyway.
enum LaunchAttributeId : int {
  cooperative = 2,
  cluster_dimension = 4,
  programmatic_event = 7,
  preferred_cluster_dimension = 11,
  completion_event = 12
};

void check_attribute(const abi::LaunchAttribute& one) {
  const unsigned* v = one.val;
  switch (one.id) {
    case cooperative:
      if (v[0] != 0)
        throw Refused(not_supported, "cooperative launches are not there: blocks cannot wait for the grid");
      return;
    case cluster_dimension:
    case preferred_cluster_dimension:
      if (v[0] != 1 || v[1] != 1 || v[2] != 1) {
        throw Refused(not_supported, fmt::format("a cluster of {} x {} x {} blocks, legal: 1", v[0], v[1], v[2]));
      }
      return;
    case programmatic_event:
    case completion_event:
      throw Refused(not_supported, fmt::format("attribute {}: events of a launch are not there", one.id));
    default:
      return;
  }
}

enum FunctionAttribute : int { dynamic_shared = 8, cluster_width = 11, cluster_height = 12, cluster_depth = 13 };

constexpr int kSharedOfSm = 228 << 10, kSharedOfRuntime = 1 << 10, kThreadsOfSm = 2048, kBlocksOfSm = 32;

int active_blocks(Device& device, const void* kernel, int threads, std::size_t shared) {
  const Kernel& one = device.modules.kernel(kernel);
  if (threads < 1 || threads > 1024) throw Refused(invalid_value, fmt::format("{} threads, legal: 1 to 1024", threads));
  const auto bytes = static_cast<std::size_t>(one.program->layout().static_shared_bytes) + shared + kSharedOfRuntime;
  const int warps = (threads + 31) / 32;
  return std::min({kBlocksOfSm, kThreadsOfSm / (32 * warps), static_cast<int>(kSharedOfSm / bytes)});
}

}  // namespace

extern "C" {

int cudaLaunchKernel(const void* kernel, abi::Dim grid, abi::Dim block, void** arguments, std::size_t shared,
                     void* stream) {
  return call("cudaLaunchKernel",
              [&](Device& device) { launch(device, {kernel, grid, block, arguments, shared, stream}); });
}

int cudaLaunchKernelExC(const abi::LaunchConfig* config, const void* kernel, void** arguments) {
  return call("cudaLaunchKernelExC", [&](Device& device) {
    given(config);
    for (unsigned i = 0; i < config->numAttrs; ++i) check_attribute(config->attrs[i]);
    launch(device, {kernel, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, config->stream});
  });
}

int cudaFuncSetAttribute(const void* kernel, int attribute, int value) {
  return call("cudaFuncSetAttribute", [&](Device& device) {
    Kernel& one = device.modules.kernel(kernel);
    const auto most = flashproof::ptx::kMaxSharedBytes - one.program->layout().static_shared_bytes;
    if (attribute == dynamic_shared) {
      if (value < 0 || value > most)
        throw Refused(invalid_value, fmt::format("{} bytes of dynamic shared memory, legal: 0 to {}", value, most));
      one.dynamic_shared = static_cast<std::uint32_t>(value);
    } else if (attribute >= cluster_width && attribute <= cluster_depth && value > 1) {
      throw Refused(not_supported, fmt::format("a cluster of {} blocks, legal: 1", value));
    }
  });
}

int cudaFuncGetAttributes(abi::FuncAttributes* attributes, const void* kernel) {
  return call("cudaFuncGetAttributes", [&](Device& device) {
    const Kernel& one = device.modules.kernel(kernel);
    const std::uint32_t most = one.program->entry().max_threads;
    abi::FuncAttributes& made = *given(attributes) = {};
    made.sharedSizeBytes = static_cast<std::size_t>(one.program->layout().static_shared_bytes);
    made.localSizeBytes = static_cast<std::size_t>(one.program->layout().local_bytes);
    made.maxThreadsPerBlock = most != 0 ? static_cast<int>(std::min<std::uint32_t>(most, 1024)) : 1024;
    made.numRegs = 32;  // ptxas alone knows it: as many as 2,048 threads have
    made.ptxVersion = made.binaryVersion = static_cast<int>(device.settings.capability);
    made.maxDynamicSharedSizeBytes = static_cast<int>(one.most_dynamic_shared());
  });
}

int cudaFuncSetCacheConfig(const void* /*kernel*/, int /*config*/) {
  return call("cudaFuncSetCacheConfig", [](Device&) {});
}

int cudaFuncGetName(const char** name, const void* kernel) {
  return call("cudaFuncGetName", [&](Device& device) { *given(name) = device.modules.kernel(kernel).entry.c_str(); });
}

int cudaGetFuncBySymbol(const void** function, const void* kernel) {
  return call("cudaGetFuncBySymbol", [&](Device&) { *given(function) = kernel; });
}

int cudaGetKernel(const void** made, const void* kernel) {
  return call("cudaGetKernel", [&](Device&) { *given(made) = kernel; });
}

/// By threads, blocks and shared memory of an SM of capability 9.0; registers are not known.
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int threads, std::size_t shared) {
  return call("cudaOccupancyMaxActiveBlocksPerMultiprocessor",
              [&](Device& device) { *given(blocks) = active_blocks(device, kernel, threads, shared); });
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* kernel, int threads,
                                                           std::size_t shared, unsigned /*flags*/) {
  return call("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
              [&](Device& device) { *given(blocks) = active_blocks(device, kernel, threads, shared); });
}
}
