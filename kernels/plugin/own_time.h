// How long a process has been at its own work since it was asked: what passes on the clock, less what its threads waited for a
// processor that others had. A kernel on a loaded machine is slow by the clock and not by this; one that spins or sleeps is either way.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>

namespace flashproof {

/// Of one thread, in seconds since it began.
struct ThreadTime {
  double ran = 0, waited = 0;  // on a processor; ready to run, and on none
};
using ProcessTime = std::map<pid_t, ThreadTime>;  // by thread

/// From /proc/PID/task/*/schedstat; nothing where the system does not say, or the process has ended.
std::optional<ProcessTime> process_time(pid_t pid);

/// Of `passed` seconds on the clock, between two looks. The thread that waited longest counts, as all may wait for it, and one that
/// ended in between may have waited all the while; but not less than the processors were busy with the process: threads that wait for
/// each other's processor alone are no load.
double own_time(double passed, const ProcessTime& before, const ProcessTime& after, unsigned processors);

/// The time that a process has for an answer.
class OwnTime {
 public:
  /// Begins now.
  explicit OwnTime(pid_t pid) : pid_(pid) {}
  /// Seconds of its own: the sum of own_time() between the calls of this, which so should come often: what a thread waited before it
  /// ended is known up to the look before. A call of less than some milliseconds costs no look at the process.
  double passed();
  double on_the_clock() const;

 private:
  using Clock = std::chrono::steady_clock;

  pid_t pid_;
  Clock::time_point begin_ = Clock::now();
  double looked_ = 0, own_ = 0;  // when it was looked at last, on the clock; what was its own until then
  std::optional<ProcessTime> last_;
};

}  // namespace flashproof
