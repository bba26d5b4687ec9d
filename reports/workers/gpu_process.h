// The server's side of gpu_server.h: the supervisor and the process that owns the GPU.
#pragma once

#include <cstdint>

#include "reports/workers/gpu_server.h"

namespace flashproof {

/// What a client sends. The answer is kGpuStarted when the kernel's turn has come, then one of the other tags and the
/// bytes of o and lse (or a message), then the end of the connection.
struct GpuRequest {
  std::uint64_t case_index;
  std::uint64_t math;  // Math
  char kernel[128];
};
inline constexpr char kGpuStarted = 's', kGpuOk = 'o', kGpuUsage = 'u', kGpuFault = 'f', kGpuInfrastructure = 'i';

/// Writes everything; false if the other side is gone or does not read.
bool send_all(int fd, const void* data, std::size_t size);
/// How long recv and send on this socket may take.
void limit_waiting(int fd, double seconds);

/// In a process of its own, by fork_child(): keeps a serving process alive. Never returns. `alive` is the end of a pipe
/// that no other process holds open, so that its closing tells that the supervisor has ended.
[[noreturn]] void supervise_gpu(int listener, int alive, const Plan& plan, const GpuServerOptions& options);

}  // namespace flashproof
