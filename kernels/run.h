// Runs one kernel on one problem. Outputs are poisoned before the launch, with a NaN whose payload no arithmetic makes.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/registry.h"
#include "kernels/simt/schedule.h"

namespace flashproof {

struct RunOptions {
  Executor executor = Executor::cpu;
  simt::Schedule schedule = {};  // CPU executor only
  int threads = 0;               // softmax kernels with a free block size; 0 = their own choice
};

/// The bit pattern of an output element that was never written.
std::uint64_t poison_bits(Format format);

/// Throws UsageError if the problem is invalid or the kernel does not take it (nothing is launched),
/// simt::Fault for what the CPU executor found, InfrastructureError for the driver.
Output run(const Kernel& kernel, const Problem& problem, const RunOptions& options = {});

/// Number of usable CUDA devices; 0 without a driver, without a device, or in a build without CUDA. `why` says which.
int cuda_devices(std::string* why = nullptr);

}  // namespace flashproof
