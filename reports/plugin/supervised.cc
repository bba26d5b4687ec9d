#include "reports/plugin/supervised.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <vector>

#include "reference/system/child_process.h"
#include "reference/system/error.h"
#include "reference/system/process.h"

namespace flashproof {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{10};  // for the end of a child that was asked for it
constexpr timespec kTick{.tv_sec = 1, .tv_nsec = 0};

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

/// Does to this process what the signal would have done, had it not been held back.
void obey(int signal) {
  const sigset_t one = set_of({signal});
  std::raise(signal);
  ::sigprocmask(SIG_UNBLOCK, &one, nullptr);
  ::sigprocmask(SIG_BLOCK, &one, nullptr);
}

class Supervisor {
 public:
  Supervisor(pid_t child, std::vector<pid_t> others)
      : child_(child), others_(std::move(others)), passed_on_(set_of({})) {}

  int run(const sigset_t& signals) {
    for (;;) {
      siginfo_t info{};
      if (::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) != 0 &&
          errno != EINTR) {
        throw InfrastructureError(fmt::format("waiting for the process that counts: {}", std::strerror(errno)));
      }
      if (info.si_pid == child_ && info.si_code != CLD_STOPPED) return end();
      if (info.si_pid == child_) go_on();
      if (stopped_ && Clock::now() - *stopped_ > kPatience) ::kill(child_, SIGKILL);
      if (const int signal = ::sigtimedwait(&signals, nullptr, &kTick); signal > 0 && signal != SIGCHLD)
        pass_on(signal);
    }
  }

 private:
  void pass_on(int signal) {
    if (signal != SIGTSTP) {
      sigaddset(&passed_on_, signal);
      ::kill(child_, signal);
      return;
    }
    ::kill(child_, SIGSTOP);
    obey(SIGTSTP);  // until SIGCONT; not at all where no shell could send that
    ::kill(child_, SIGCONT);
  }

  /// Again and again, where it is stopped again and again.
  void go_on() {
    if (!stopped_) stopped_ = Clock::now();
    ::kill(child_, SIGTERM);
    ::kill(child_, SIGCONT);
  }

  int end() {
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    end_children_except(others_);  // whichever way it ended: what a library started may be left
    if (stopped_) {
      throw InfrastructureError(
          "the process that counts verdicts was stopped by a signal, and not by the terminal: a kernel or another "
          "process of this user sent it; the result is partial");
    }
    if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
    if (sigismember(&passed_on_, WTERMSIG(status)) == 1) obey(WTERMSIG(status));
    throw InfrastructureError("the process that counts verdicts " + describe_status(status));
  }

  pid_t child_;
  std::vector<pid_t> others_;  // children that this program was started with
  sigset_t passed_on_;
  std::optional<Clock::time_point> stopped_;  // when it was first stopped by a signal that was not sent here
};

}  // namespace

int supervised(const std::function<int()>& body) {
  const sigset_t signals = set_of({SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP});
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &signals, &before);  // before the fork: its SIGCHLD is not lost
  std::vector<pid_t> others = children_of_this_process();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // what a child leaves behind is ended here
  std::fflush(nullptr);                // or the child would write our buffers once more
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw InfrastructureError(fmt::format("fork: {}", std::strerror(errno)));
  if (child > 0) return Supervisor(child, std::move(others)).run(signals);
  die_with_parent(parent);
  ::setsid();  // neither the terminal nor a signal to the group of the command reaches it
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  return body();
}

}  // namespace flashproof
