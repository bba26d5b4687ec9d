// Kernels that stop or end the process that counts verdicts: the command ends, is no pass, and says why. Ctrl-Z is no such thing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>

#include "reference/system/child_process.h"
#include "reports/plugin/supervised.h"
#include "reports/plugin/test/program_run.h"

namespace flashproof {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class Supervised : public testing::Test {
 protected:
  Supervised() {
    std::string made = testing::TempDir() + "flashproof-supervised-XXXXXX";
    out = ::mkdtemp(made.data());
  }
  ~Supervised() override { std::filesystem::remove_all(out); }

  ProgramRun check(const std::string& kernel, const std::string& library = "stopping.so") const {
    ProgramRun run = run_plugin_program({"check", std::string(FLASHPROOF_TEST_PLUGINS) + "/" + library, "--kernel",
                                         "softmax." + kernel + ".stopping", "--law", "within_bound", "--family",
                                         "normal", "--cases", "2", "--jobs", "2", "--seconds", "5", "--out", out});
    EXPECT_THAT(children_of_this_process(), IsEmpty()) << "a process was left";
    return run;
  }

  std::string out;
};

struct Stopping {
  const char *kernel, *said;

  friend std::ostream& operator<<(std::ostream& out, const Stopping& s) { return out << s.kernel; }
};

constexpr const char* kStopped =
    "flashproof: the process that counts verdicts was stopped by a signal, and not by the terminal: a kernel or "
    "another process of this user sent it; the result is partial\n";

class StoppedBy : public Supervised, public testing::WithParamInterface<Stopping> {};

TEST_P(StoppedBy, a_kernel_it_ends_as_a_failure_of_the_run) {
  const ProgramRun run = check(GetParam().kernel);
  EXPECT_EQ(run.code(), 3) << run.out;
  EXPECT_THAT(run.stops, IsEmpty());
  EXPECT_THAT(run.err, HasSubstr(GetParam().said));
}

INSTANTIATE_TEST_SUITE_P(
    All, StoppedBy,
    testing::Values(Stopping{"counter", kStopped}, Stopping{"both", kStopped}, Stopping{"group", kStopped},
                    Stopping{"again_and_again", kStopped},
                    Stopping{"kill", "flashproof: the process that counts verdicts was killed by signal 9 (Killed)\n"}),
    [](const auto& info) { return std::string(info.param.kernel); });

TEST_F(Supervised, a_library_that_stops_it_when_it_is_loaded_ends_it) {
  const ProgramRun run = check("suspend", "stopping_on_load.so");
  EXPECT_EQ(run.code(), 3) << run.out;
  EXPECT_THAT(run.err, HasSubstr(kStopped));
}

TEST_F(Supervised, interrupted_before_the_first_case_it_blames_no_kernel) {
  const ProgramRun run = check("suspend", "interrupting_on_load.so");
  EXPECT_EQ(run.code(), 3) << run.out;
  EXPECT_THAT(run.out, HasSubstr("PARTIAL    interrupted before every case had run"));
  EXPECT_THAT(run.out, testing::Not(HasSubstr("FAIL")));
}

TEST_F(Supervised, what_a_terminal_sends_does_not_reach_the_process_that_counts) {
  const ProgramRun run = check("as_terminal");
  EXPECT_EQ(run.code(), 1) << run.err;
  EXPECT_THAT(run.stops, IsEmpty());
}

TEST_F(Supervised, it_stops_on_ctrl_z_and_goes_on_to_the_same_verdict) {
  const ProgramRun run = check("suspend");
  EXPECT_EQ(run.code(), 0) << run.out << run.err;
  EXPECT_THAT(run.stops, testing::AllOf(testing::Not(IsEmpty()), testing::Each(SIGTSTP)));
}

/// The child of the child, while both run; 0: there is none.
pid_t only_child_of(pid_t parent) {
  std::FILE* file =
      std::fopen(("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children").c_str(), "r");
  int pid = 0;
  if (file == nullptr || std::fscanf(file, "%d", &pid) != 1) pid = 0;
  if (file != nullptr) std::fclose(file);
  return pid;
}

char state_of(pid_t pid) {
  std::FILE* file = std::fopen(("/proc/" + std::to_string(pid) + "/stat").c_str(), "r");
  char state = '?';
  if (file == nullptr || std::fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = '?';
  if (file != nullptr) std::fclose(file);
  return state;
}

TEST(SupervisedEnd, a_child_that_ends_by_itself_leaves_no_process_behind) {
  for (const bool throws : {false, true}) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t parent = fork_child([&] {
      ::_exit(supervised([&]() -> int {
        int up[2];
        if (::pipe(up) != 0) return 1;
        if (::fork() == 0) {
          ::setsid();
          pid_t left = ::fork();
          if (left == 0) {
            for (;;) ::pause();
          }
          ::_exit(::write(up[1], &left, sizeof left) == sizeof left ? 0 : 1);
        }
        pid_t left = 0;  // whose pid this process has before it ends
        if (::read(up[0], &left, sizeof left) != sizeof left) return 1;
        if (::write(ends[1], &left, sizeof left) != sizeof left) return 1;
        if (throws) throw std::runtime_error("of a child");
        return 3;
      }));
    });
    ::close(ends[1]);
    pid_t left = 0;
    EXPECT_EQ(::read(ends[0], &left, sizeof left), static_cast<ssize_t>(sizeof left));
    const int status = reap(parent, 20'000);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3) << status;
    EXPECT_TRUE(::kill(left, 0) != 0 && errno == ESRCH) << left;
    ::close(ends[0]);
  }
}

/// A supervised process that only waits, in a group of its own.
class Waiting : public testing::Test {
 protected:
  Waiting()
      : parent(fork_child([] {
          ::setpgid(0, 0);
          ::_exit(supervised([] {
            for (;;) ::pause();
            return 0;
          }));
        })) {
    while ((child = only_child_of(parent)) == 0 || ::getsid(child) != child) ::usleep(1000);
  }
  int end() { return reap(std::exchange(parent, -1), 20'000); }
  ~Waiting() override {
    if (parent > 0) reap(parent, 0);
  }
  void await(pid_t pid, bool stopped) const {
    for (int waited = 0; (state_of(pid) == 'T') != stopped && waited < 20'000; ++waited) ::usleep(1000);
    EXPECT_EQ(state_of(pid) == 'T', stopped);
  }

  pid_t parent, child = 0;
};

TEST_F(Waiting, a_hangup_is_passed_on_and_ends_both) {
  ::kill(parent, SIGHUP);
  const int status = end();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP) << status;
}

TEST_F(Waiting, ctrl_z_stops_both_and_fg_continues_both) {
  for (int round = 0; round < 3; ++round) {
    ::kill(-parent, SIGTSTP);
    await(parent, true);
    await(child, true);
    ::kill(-parent, SIGCONT);
    await(parent, false);
    await(child, false);
  }
  ::kill(parent, SIGTERM);
  const int status = end();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
}

TEST_F(Waiting, it_ends_with_its_parent) {
  ::kill(parent, SIGKILL);
  end();
  const auto runs = [&] { return state_of(child) != '?' && state_of(child) != 'Z'; };
  for (int waited = 0; runs() && waited < 20'000; ++waited) ::usleep(1000);
  EXPECT_FALSE(runs());
  ::waitpid(child, nullptr, WNOHANG);  // ours by now, where another test has asked for what is left behind
}

}  // namespace
}  // namespace flashproof
