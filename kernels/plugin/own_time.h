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

/// Between two looks, `passed` seconds apart: the sum of what its threads ran, and what the one waited that waited longest, as all may
/// wait for it. One that ended in between may have waited all the while. The system counts a wait when it is over, so `waited` may
/// be more than `passed`: sums of several such are what counts.
ThreadTime between(double passed, const ProcessTime& before, const ProcessTime& after);

/// Of `passed` seconds on the clock, in which between() was `sum` in all: what was not waited, but not less than the processors were
/// busy with the process. Threads that wait for each other's processor alone are no load.
double own_time(double passed, const ThreadTime& sum, unsigned processors);

/// Of a child of this process whose first thread sleeps when it has nothing to do. Waits, `most` seconds at most, until that thread
/// sleeps and no other is ready to run, or those that are have run for a moment: what they do next they have then begun; or until the
/// process has ended.
void let_threads_run(pid_t pid, double most);

/// The time that a process has for an answer.
class OwnTime {
 public:
  /// Begins now.
  explicit OwnTime(pid_t pid) : pid_(pid) {}
  /// Seconds of its own. To be asked often: what a thread waited before it ended is known up to the look before. A call within some
  /// milliseconds of another costs no look at the process.
  double passed();
  double on_the_clock() const;

 private:
  using Clock = std::chrono::steady_clock;

  pid_t pid_;
  Clock::time_point begin_ = Clock::now();
  double looked_ = 0;  // on the clock
  ThreadTime sum_;     // of between(), until then
  std::optional<ProcessTime> last_;
};

}  // namespace flashproof
