// The CPU executor: runs the threads of a block as fibers, in an order that the schedule decides.
//
// One executor per process, on one operating-system thread at a time; a second thread that launches meanwhile gets an
// InfrastructureError. Parallelism is by processes. Blocks run one after another, so a kernel that waits for another
// block never ends, and neither does one that spins until another thread of its block writes: a thread gives way only
// in a barrier or a warp collective.
//
// A thread that breaks a rule throws simt::Fault at that place; the other threads of the block are then unwound too
// (their collective throws), destructors run, and launch() rethrows the first exception. Kernels therefore must not
// call collectives from noexcept functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/simt/cpu/schedule.h"
#include "reference/bound/declare/arithmetic.h"

namespace flashproof::simt {

/// The schedule of every launch in its scope. Random numbers and bytes go on from one launch to the next, so the whole
/// scope is one deterministic run.
class ScopedSchedule {
 public:
  explicit ScopedSchedule(Schedule schedule);
  ~ScopedSchedule();
  ScopedSchedule(const ScopedSchedule&) = delete;
  ScopedSchedule& operator=(const ScopedSchedule&) = delete;

  /// The innermost one in force; null if there is none, which means fifo.
  static ScopedSchedule* current();

  Policy policy() const { return schedule_.policy; }
  bool lazy_copies() const { return schedule_.lazy_copies; }
  std::uint64_t next_random();
  /// Whether the running thread gives way at this access; asked once per access.
  bool preempts();
  /// True and the next byte while there are any.
  bool next_byte(std::uint8_t& byte);

 private:
  Schedule schedule_;
  std::uint64_t random_;
  std::size_t used_ = 0;
  std::uint64_t accesses_left_ = 0;  // until the next preemption
  ScopedSchedule* outer_;
};

/// For kernels built with instrumentation: after an access to shared or watched memory.
void preempt_at_access();
/// The matrix unit of every mma in its scope: 16 products are 16 / k chained steps of it (k = 8 or 16). Without one it
/// is Hopper's.
class ScopedMatrixUnit {
 public:
  explicit ScopedMatrixUnit(const BlockFma& unit);
  ~ScopedMatrixUnit();
  ScopedMatrixUnit(const ScopedMatrixUnit&) = delete;
  ScopedMatrixUnit& operator=(const ScopedMatrixUnit&) = delete;

  static const BlockFma& current();

 private:
  BlockFma outer_;
};

}  // namespace flashproof::simt
