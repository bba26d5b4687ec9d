// Children of this process: how one is forked, asked a question through a pipe, and ended. What a child says is as little
// trusted as the code that it runs: it may crash, hang, say without end, close its pipe, or leave processes behind that hold it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/system/descriptor.h"

namespace flashproof {

/// Forks. The child ends with the thread that calls this, has stderr for its stdout (which is the parent's data), and does `work`:
/// exit code 0, or 3 where that throws. Throws InfrastructureError.
pid_t fork_child(const std::function<void()>& work);

/// Waits for its end, which is brought about after `patience` milliseconds. Returns the wait status.
int reap(pid_t child, int patience);

/// Whether a child has ended; it is not waited for.
bool has_ended(pid_t child);
/// Whether a signal has stopped it and SIGCONT has not come since.
bool is_stopped(pid_t child);

/// Whether its program is not the one of this process any more; false of one that has ended.
bool runs_another_program(pid_t child);

/// The children of the thread that first asks, those included that have ended and were not waited for, and those that a child left
/// behind, in a process that has asked for them (PR_SET_CHILD_SUBREAPER). The system lists them (CONFIG_PROC_CHILDREN), so no
/// other process is looked at: a child that has ended stays in the list until it is waited for, and what it leaves is added
/// before it ends, so a chain of processes that fork and exit is never missed. Throws InfrastructureError where there is no such list.
class ChildList {
 public:
  std::vector<pid_t> list();

 private:
  Descriptor file_;  // kept open: it is asked after every call of a kernel
};

/// Those of all threads.
std::vector<pid_t> children_of_this_process();

/// Kills and reaps every child but these, and what those leave behind.
void end_children_except(const std::vector<pid_t>& kept);

/// Writes everything to a pipe; throws InfrastructureError if the other end is gone.
void write_all(int descriptor, std::string_view text);

struct ChildLimits {
  double seconds = 30;
  std::size_t bytes = std::size_t{1} << 24;  // of the answer
};

struct ChildAnswer {
  enum class End { answered, ended, timed_out, flooded };
  End end = End::ended;
  std::string text;  // the answer, up to its first NUL; empty unless answered
  int status = 0;    // the wait status
  ChildLimits limits;

  bool answered() const { return end == End::answered; }
  /// How it ended without an answer: "was killed by signal 11 (Segmentation fault)", "did not answer within 30 s", "answered with
  /// more than 4096 bytes".
  std::string complaint() const;
};

/// What `question` returns in a child. With the answer, or without a hope of one, the child is killed, whatever it is at.
/// Throws InfrastructureError.
ChildAnswer ask_child(const std::function<std::string()>& question, const ChildLimits& limits = {});

}  // namespace flashproof
