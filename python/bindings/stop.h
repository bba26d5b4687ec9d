// When a run of a callable ends before its last case: the clock, Ctrl-C, and a device that answers no more.
#pragma once

#include <chrono>

#include "python/bindings/callable_kernel.h"

namespace flashproof::python {

class Stop {
 public:
  /// The kernel must outlive it. seconds 0: no limit.
  Stop(CallableKernel& kernel, double seconds)
      : kernel_(kernel),
        seconds_(seconds),
        end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}
  bool operator()() {
    stopped_ = stopped_ || !kernel_.lost().empty() || (seconds_ > 0 && Clock::now() >= end_) || kernel_.interrupted();
    return stopped_;
  }
  bool stopped() const { return stopped_; }

 private:
  using Clock = std::chrono::steady_clock;
  CallableKernel& kernel_;
  double seconds_;
  Clock::time_point end_;
  bool stopped_ = false;
};

}  // namespace flashproof::python
