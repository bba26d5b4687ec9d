// The one process that owns the GPU. Workers ask it over a local socket to run a kernel on a case of the plan and get
// the bits of the output back, so that truths and bounds are still computed in parallel. If a kernel takes the process
// down, breaks its context (which cannot be mended) or does not end, a supervisor starts the next one.
#pragma once

#include <functional>
#include <string>

#include "kernels/registry.h"
#include "kernels/run/run.h"
#include "reference/system/child_process.h"
#include "reference/system/descriptor.h"
#include "reports/run/plan.h"

namespace flashproof {

/// The answer (at most 4096 bytes, in 120 s) of a child process, so that the caller stays free of any CUDA state and may fork.
ChildAnswer ask_elsewhere(const std::function<std::string()>& question);

/// Asked elsewhere. `why` as in cuda_devices().
int cuda_devices_elsewhere(std::string* why = nullptr);

/// The process ended under this kernel.
struct GpuProcessEnded : KernelFault {
  using KernelFault::KernelFault;
};

using GpuRunner = std::function<Output(const Kernel& kernel, const Problem& problem)>;
Output run_on_gpu(const Kernel& kernel, const Problem& problem);

struct GpuServerOptions {
  GpuRunner runner = run_on_gpu;  // tests put something else in the GPU's place
  double kernel_seconds = 120;    // shorter than PoolOptions::step_seconds, so that the server ends a hung kernel first
};

class GpuServer {
 public:
  /// Forks. `plan` must not change afterwards.
  explicit GpuServer(const Plan& plan, const GpuServerOptions& options = {});
  ~GpuServer();
  GpuServer(const GpuServer&) = delete;
  GpuServer& operator=(const GpuServer&) = delete;

  /// From any process forked later. `started` is called when the kernel's turn has come: the time in the queue before
  /// is not the kernel's. Throws what flashproof::run() throws (KernelFault also for a kernel that does not end), or
  /// GpuProcessEnded; InfrastructureError if the server is gone.
  Output run(const Kernel& kernel, std::size_t case_index, const Problem& problem,
             const std::function<void()>& started = {}) const;

  int supervisor() const { return supervisor_; }  // its pid

 private:
  std::string address_;  // of an abstract Unix socket
  int supervisor_ = -1;
  Descriptor alive_;  // a pipe that is closed when the supervisor ends
  double kernel_seconds_;
};

}  // namespace flashproof
