// When a run of a callable ends before its last case: the clock, Ctrl-C, and a device that answers no more.
#pragma once

#include <chrono>

namespace flashproof::python {

/// Callable: CallableKernel or CallableGradient, which must outlive it.
template <class Callable>
class Stop {
 public:
  /// seconds 0: no limit.
  Stop(Callable& callable, double seconds) : callable_(callable), seconds_(seconds) { allow(1); }
  /// From now on until this share of all the seconds has passed, counted from the beginning.
  void allow(double share) {
    stopped_ = false;
    end_ = begin_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(share * seconds_));
  }
  bool operator()() {
    stopped_ = stopped_ || callable_.lost() || (seconds_ > 0 && Clock::now() >= end_) || callable_.interrupted();
    return stopped_;
  }
  bool stopped() const { return stopped_; }

 private:
  using Clock = std::chrono::steady_clock;
  Callable& callable_;
  double seconds_;
  Clock::time_point begin_ = Clock::now(), end_;
  bool stopped_ = false;
};

}  // namespace flashproof::python
