// Runs one kernel on one problem. Outputs are poisoned before the launch, with a NaN whose payload no arithmetic makes.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/registry.h"
#include "kernels/simt/schedule.h"

namespace flashproof {

struct RunOptions {
  Executor executor = Executor::cpu;
  simt::Schedule schedule = {};  // CPU executor only
};

/// The bit pattern of an output element that was never written.
std::uint64_t poison_bits(Format format);

/// The kernel broke the rules of its memory: a write beside its outputs (CPU executor), or the GPU stopped it: an illegal
/// address, an assertion, its time limit. A finding, not a failure of the machine. On a GPU the CUDA context is lost: the
/// process that catches this can run nothing more there.
struct KernelFault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws UsageError if the problem is invalid or the kernel does not take it (nothing is launched),
/// simt::Fault for what the CPU executor found, KernelFault, InfrastructureError for the driver.
Output run(const Kernel& kernel, const Problem& problem, const RunOptions& options = {});

/// Number of usable CUDA devices; 0 without a driver, without a device, or in a build without CUDA. `why` says which.
int cuda_devices(std::string* why = nullptr);

}  // namespace flashproof
