#include "kernels/plugin/own_time.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <thread>
#include <vector>

#include "kernels/plugin/load.h"
#include "reference/system/child_process.h"

namespace flashproof {
namespace {

double own(double passed, const ProcessTime& before, const ProcessTime& after, unsigned processors) {
  return own_time(passed, between(passed, before, after), processors);
}

TEST(OwnTime, is_what_passes_less_what_was_waited_for_a_processor) {
  EXPECT_EQ(own(5, {{1, {1, 1}}}, {{1, {2, 5}}}, 2), 1);                 // 4 of 5 s it waited
  EXPECT_EQ(own(5, {{1, {1, 1}}}, {{1, {1, 1}}}, 2), 5);                 // it sleeps
  EXPECT_EQ(own(5, {{1, {1, 1}}}, {{1, {6, 1}}}, 2), 5);                 // it spins
  EXPECT_EQ(own(5, {{1, {1, 1}}}, {{1, {1, 1}}, {2, {1, 4}}}, 2), 1);    // a thread that it waits for has waited
  EXPECT_EQ(own(5, {}, {{1, {5, 5}}, {2, {5, 5}}, {3, {0, 5}}}, 2), 5);  // its threads waited for each other alone
  EXPECT_EQ(own(5, {{1, {1, 1}}, {2, {1, 4}}}, {{1, {2, 1}}}, 2),
            0.5);                                          // a thread that waited has ended: 1 s it ran
  EXPECT_EQ(own(5, {{1, {9, 9}}}, {{1, {0, 20}}}, 2), 0);  // never below 0
  EXPECT_EQ(own(5, {{1, {1, 1}}}, {{1, {90, 1}}}, 0), 5);  // nor beyond the clock
}

TEST(OwnTime, a_wait_counts_whole_when_it_is_told) {
  const ThreadTime first = between(5, {{1, {1, 1}}}, {{1, {1, 1}}}), second = between(5, {{1, {1, 1}}}, {{1, {2, 9}}});
  EXPECT_EQ(own_time(10, {first.ran + second.ran, first.waited + second.waited}, 2), 2);
}

TEST(OwnTime, is_read_of_a_process) {
  const std::optional<ProcessTime> time = process_time(::getpid());
  if (!time) GTEST_SKIP() << "this system has no schedstat";
  EXPECT_TRUE(time->contains(::getpid()));
  EXPECT_FALSE(process_time(-1));
}

TEST(OwnTime, a_thread_that_is_ready_runs_before_the_wait_for_it_ends) {
  const pid_t child = fork_child([] {
    std::thread([] {
      for (volatile int turns = 0;; turns = turns + 1) {
      }
    }).detach();
    for (;;) ::pause();
  });
  const auto ran = [child] {
    clockid_t clock{};
    timespec time{};
    EXPECT_EQ(::clock_getcpuclockid(child, &clock), 0);
    EXPECT_EQ(::clock_gettime(clock, &time), 0);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  while (ran() < 0.01) ::sched_yield();  // the thread is there
  for (int wait = 0; wait < 20; ++wait) {
    const double before = ran();
    let_threads_run(child, 10);
    EXPECT_GE(ran(), before + 1e-4);
  }
  ::kill(child, SIGKILL);
  let_threads_run(child, 10);
  EXPECT_TRUE(has_ended(child));
  ::waitpid(child, nullptr, 0);
}

double clock_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// One processor for this process, its children and a crowd that keeps it busy.
class Crowd {
 public:
  explicit Crowd(int others) {
    ::sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    int first = 0;
    while (!CPU_ISSET(first, &before_)) ++first;
    CPU_SET(first, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    for (int i = 0; i < others; ++i) {
      others_.push_back(fork_child([] {
        ::setsid();  // as a kernel's process: the system shares processors out by session
        for (;;) clock_seconds();
      }));
    }
  }
  ~Crowd() {
    for (const pid_t pid : others_) ::kill(pid, SIGKILL), ::waitpid(pid, nullptr, 0);
    ::sched_setaffinity(0, sizeof before_, &before_);
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

 private:
  cpu_set_t before_{};
  std::vector<pid_t> others_;
};

/// What comes of one call under a limit of a second: empty, or the fault; and how long it took by the clock.
struct Called {
  std::string fault;
  double seconds;
};
Called call(const std::string& name) {
  static const Plugin plugin(std::filesystem::path(FLASHPROOF_TEST_PLUGINS) / "evasive.so", 1);
  SoftmaxProblem p;
  p.x = Tensor::dense(Format::f32, {1, 3});
  for (std::int64_t c = 0; c < 3; ++c) p.x.set({0, c}, 1);
  p.plan = ChunkPlan::uniform(3, 3);
  const Kernel& kernel = *std::ranges::find(plugin.kernels(), "softmax." + name + ".evasive", &Kernel::id);
  const double begin = clock_seconds();
  std::string fault;
  try {
    run(kernel, p);
  } catch (const KernelFault& e) {
    fault = e.what();
  }
  return {fault, clock_seconds() - begin};
}

TEST(OwnTime, a_good_kernel_on_a_loaded_machine_has_not_hung) {
  if (!process_time(::getpid())) GTEST_SKIP() << "this system has no schedstat";
  const Crowd crowd(7);
  for (const char* name : {"slow", "slow_thread"}) {
    const Called called = call(name);
    EXPECT_EQ(called.fault, "") << name;
    EXPECT_GT(called.seconds, 1.5) << name << ": the machine was not loaded, so this tested nothing";
  }
}

TEST(OwnTime, one_that_hangs_is_ended_by_its_limit_whatever_the_load) {
  for (const int others : {0, 3}) {
    const Crowd crowd(others);
    for (const char* name : {"spins", "sleeps"}) {
      const Called called = call(name);
      EXPECT_EQ(called.fault, "the process gave no result within 1 s of its own time") << name;
      EXPECT_GE(called.seconds, 1) << name;
      EXPECT_LT(called.seconds, kBackstop) << name;
    }
  }
}

}  // namespace
}  // namespace flashproof
