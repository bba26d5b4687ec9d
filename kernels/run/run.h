// Runs one kernel on one problem. Outputs are poisoned before the launch, with a NaN whose payload no arithmetic makes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "kernels/simt/cpu/schedule.h"
#include "kernels/simt/shadow/shadow.h"

namespace flashproof {

struct RunOptions {
  Executor executor = Executor::cpu;
  simt::Schedule schedule = {};  // CPU executor only; as PTX blocks and warps run from the first to the last
  simt::ScopedShadow* shadow =
      nullptr;  // fibers only, as matrix_unit, dose and far_axis: told where the inputs, outputs and the workspace are
  BlockFma matrix_unit = kHopperF16;  // CPU executor only: of mma; a bound must then be that of on_unit()
  double dose = 0;                    // of a seeded fault that has one (broken/fault.h); 0: the registered one
  std::byte workspace_fill{0xff};     // what every byte of the workspace is before the first launch
  bool zeroed_outputs = false;        // outputs hold zeros before the launch, not the poison
  bool guard_inputs = false;          // CPU executor only: KernelFault if an input or what lies beside it is written
  int far_axis = -1;                  // CPU executor only: offsets along this axis exceed 2^31 (far_copies.h); -1: none
  // Foreign kernels behind the C ABI only. Where tensors lie: drawn from this number, no better aligned than was promised; 0: every
  // tensor is aligned to 256 bytes.
  std::uint64_t placement = 0;
  bool new_process = false;  // the kernel's process is started anew
};

/// What the seeded fault is to be run at; 0 without a fault.
double dose_of(const SeededFault* fault, const RunOptions& options);

/// The kernel as it is on this matrix unit: where the declaration has one, it is exchanged.
Kernel on_unit(const Kernel& kernel, const BlockFma& unit);

/// The bit pattern of an output element that was never written.
std::uint64_t poison_bits(Format format);
/// As many bytes of workspace as the kernel asks for, every one 0xff.
Tensor workspace_of(const Kernel& kernel, const Problem& problem);
/// A dense tensor of nothing else.
Tensor poisoned(Format format, std::vector<std::int64_t> shape);

/// The kernel broke the rules of its memory: a write beside its outputs (CPU executor), a finding of the launch (PTX: an address, a race),
/// or the GPU stopped it: an illegal address, an assertion, its time limit. A finding, not a failure of the machine. On a GPU the CUDA context is lost: the
/// process that catches this can run nothing more there.
struct KernelFault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The parts of the problem; of a gradient, what the forward kernel left in o and lse is read as it is, in both modes.
/// Throws UsageError if the problem is invalid or the kernel does not take it (nothing is launched),
/// simt::Fault for what the CPU executor found, KernelFault, InfrastructureError for the driver.
Output run(const Kernel& kernel, const Problem& problem, const RunOptions& options = {});

/// Number of usable CUDA devices; 0 without a driver, without a device, or in a build without CUDA. `why` says which.
int cuda_devices(std::string* why = nullptr);

}  // namespace flashproof
