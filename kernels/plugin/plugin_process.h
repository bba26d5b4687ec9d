// The process that has a library, as the process that judges sees it. No code of the library ever runs in the judging process: that
// one makes the memory, asks for a call, copies what is there when the answer comes, and judges the copy. So a library can spoil its
// own process and nothing else.
//
// An answer counts only from the process that was started (SCM_CREDENTIALS: the kernel of the system says who sent it). That process is
// of a session of its own, is ended with everything that it started, and has neither our descriptors nor the right to trace us.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "kernels/plugin/arena.h"
#include "kernels/plugin/record.h"
#include "kernels/run/run.h"

namespace flashproof {

struct LoadedPlugin;

/// The process was ended, by itself or by us. `how`: "was killed by signal 11 (Segmentation fault)", "forked: ...".
struct ProcessFault : KernelFault {
  explicit ProcessFault(const std::string& what) : KernelFault("the process " + what), how(what) {}
  std::string how;
};

inline constexpr double kBackstop = 20;

/// Started when first asked, and again after each fault; one for each process that asks, whatever was forked in between.
class PluginProcess {
 public:
  using Load = std::function<const LoadedPlugin&()>;  // run in the process that is started

  /// `seconds` of the process's own time (own_time.h): a question that takes longer ends the process. So does one that takes kBackstop
  /// times that on the clock, however little of it the process ran.
  PluginProcess(Load load, double seconds);
  ~PluginProcess();
  PluginProcess(const PluginProcess&) = delete;
  PluginProcess& operator=(const PluginProcess&) = delete;

  /// The memory that the process shares. Throws as ask() does, also where the process has ended since it answered.
  Arena& arena();
  struct Answer {
    std::int64_t value = 0;
    std::string text;
  };
  /// Throws ProcessFault; KernelFault for a fault that the process tells of; UsageError where there is no library; InfrastructureError.
  Answer ask(PluginRequest::What what, std::uint32_t kernel = 0, std::string_view id = {});
  /// After a call whose memory was copied. A thread that the call left behind meets the end of that memory, or writes where it is seen,
  /// before anything else is asked, however busy the processors are: at calls 1, 2, 4, 8, ..., as threads that spin for a while, like
  /// those of OpenMP, are waited for as long. Throws ProcessFault.
  void settle();
  /// Throws ProcessFault if it has ended since it answered.
  void expect_alive();
  /// Of the questions from now on, those of the processes that are forked hereafter included.
  void limit(double seconds) { seconds_ = seconds; }
  /// The next question goes to a new process, which has the library and none of what it did before.
  void restart();

 private:
  struct State;
  State& started();
  Answer exchange(State& state, PluginRequest::What what, std::uint32_t kernel, std::string_view id) const;

  Load load_;
  double seconds_;
  std::unique_ptr<State> state_;
};

/// For every process that holds verdicts, or the pipes that they come through: no other of the same user can trace it, read its memory
/// or open its descriptors (/proc/PID/fd). Its children inherit that; the process of a library takes it back.
void forbid_tracing();

/// For a process that judges and nothing else: none of the same user can trace it, and no signal but SIGKILL and SIGSTOP ends it.
void shield_judge();

}  // namespace flashproof
