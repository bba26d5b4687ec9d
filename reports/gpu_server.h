// The one process that owns the GPU. Workers ask it over a local socket to run a kernel on a case of the plan and get
// the bits of the output back, so that truths and bounds are still computed in parallel. If a kernel takes the process
// down (a broken context cannot be mended), a supervisor starts the next one.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include "kernels/registry.h"
#include "reports/plan.h"

namespace flashproof {

/// Asked in a child process, so that the caller stays free of any CUDA state and may fork. `why` as in cuda_devices().
int cuda_devices_elsewhere(std::string* why = nullptr);

/// The process died under this kernel.
struct GpuProcessDied : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using GpuRunner = std::function<Output(const Kernel& kernel, const Problem& problem)>;
Output run_on_gpu(const Kernel& kernel, const Problem& problem);

class GpuServer {
 public:
  /// Forks. `plan` must not change afterwards. `runner` stands in for the GPU in tests.
  explicit GpuServer(const Plan& plan, const GpuRunner& runner = run_on_gpu);
  ~GpuServer();
  GpuServer(const GpuServer&) = delete;
  GpuServer& operator=(const GpuServer&) = delete;

  /// From any process forked later. Throws what run() throws, or GpuProcessDied.
  Output run(const Kernel& kernel, std::size_t case_index, const Problem& problem) const;

 private:
  std::string address_;  // of an abstract Unix socket
  int listener_ = -1;
  int supervisor_ = -1;
};

}  // namespace flashproof
