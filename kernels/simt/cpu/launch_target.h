// Another executor in place of the fibers: every launch() in its scope goes there, with what a driver would be given.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/simt/cpu/cpu_types.h"

namespace flashproof::simt {

struct LaunchRequest {
  const void* kernel;  // the host function of that name
  dim3 grid, block;
  std::size_t dynamic_shared_bytes;
  std::span<const std::byte> parameters;  // laid out as CUDA's: each aligned as its type, padding zero
};

class LaunchTarget {
 public:
  virtual ~LaunchTarget() = default;
  /// Runs the grid to its end. Pointers in the parameters are those of the caller.
  virtual void launch(const LaunchRequest& request) = 0;
};

class ScopedLaunchTarget {
 public:
  explicit ScopedLaunchTarget(LaunchTarget& target);
  ~ScopedLaunchTarget();
  ScopedLaunchTarget(const ScopedLaunchTarget&) = delete;
  ScopedLaunchTarget& operator=(const ScopedLaunchTarget&) = delete;

  /// The innermost one in force on this thread; null: the fibers.
  static LaunchTarget* current();

 private:
  LaunchTarget* outer_;
};

}  // namespace flashproof::simt
