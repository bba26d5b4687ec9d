#include "reports/workers.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>
#include <thread>

#include "reference/problem/error.h"

namespace flashproof {
namespace {

using StepId = std::pair<std::uint64_t, std::uint64_t>;

constexpr std::uint64_t kSteps = 3;

/// Runs `tasks` tasks of three steps, calls `inside` in the worker while a step runs, and collects what arrives.
struct PoolRun {
  std::multiset<std::string> lines;
  std::map<StepId, std::string> deaths;
  bool complete = false;

  void go(std::uint64_t tasks, PoolOptions options, const std::function<void(std::uint64_t, std::uint64_t)>& inside) {
    PoolHooks hooks;
    hooks.work = [&](std::uint64_t task, std::uint64_t first, WorkerVoice& voice) {
      for (std::uint64_t step = first; step < kSteps; ++step) {
        voice.starting(step);
        inside(task, step);
        voice.returned();
        voice.line(std::to_string(task) + ":" + std::to_string(step));
        voice.complete(step);
      }
    };
    hooks.receive = [&](std::uint64_t task, const std::string& line) {
      EXPECT_EQ(line.substr(0, line.find(':')), std::to_string(task));
      lines.insert(line);
    };
    hooks.died = [&](std::uint64_t task, std::uint64_t step, const std::string& how) { deaths[{task, step}] = how; };
    complete = run_pool(tasks, hooks, options);
  }
};

TEST(Workers, every_step_of_every_task_arrives_once_whatever_the_number_of_workers) {
  for (const int jobs : {1, 2, 7}) {
    PoolRun run;
    run.go(50, {.jobs = jobs}, [](auto, auto) {});
    EXPECT_TRUE(run.complete);
    EXPECT_EQ(run.lines.size(), 50 * kSteps);
    EXPECT_EQ(std::set<std::string>(run.lines.begin(), run.lines.end()).size(), 50 * kSteps);
  }
}

TEST(Workers, a_worker_that_dies_names_the_step_and_the_rest_goes_on) {
  PoolRun run;
  run.go(20, {.jobs = 2}, [](std::uint64_t task, std::uint64_t step) {
    if (task == 7 && step == 1) {
      std::signal(SIGSEGV, SIG_DFL);
      std::raise(SIGSEGV);
    }
    if (task == 9 && step == 2) ::_exit(17);
  });
  EXPECT_TRUE(run.complete);
  EXPECT_EQ(run.lines.size(), 20 * kSteps - 2);
  EXPECT_EQ(run.lines.count("7:1"), 0U);
  EXPECT_EQ(run.lines.count("7:0"), 1U);
  EXPECT_EQ(run.lines.count("7:2"), 1U);
  ASSERT_EQ(run.deaths.size(), 2U);
  EXPECT_EQ((run.deaths[{7, 1}]), "killed by signal 11 (Segmentation fault)");
  EXPECT_EQ((run.deaths[{9, 2}]), "exited with code 17");
}

TEST(Workers, a_step_without_end_is_ended) {
  PoolRun run;
  run.go(3, {.jobs = 1, .step_seconds = 0.3}, [](std::uint64_t task, std::uint64_t step) {
    if (task == 1 && step == 0) std::this_thread::sleep_for(std::chrono::hours(1));
  });
  EXPECT_TRUE(run.complete);
  ASSERT_EQ(run.deaths.size(), 1U);
  EXPECT_EQ((run.deaths[{1, 0}]), "no result within 0.3 s");
  EXPECT_EQ(run.lines.size(), 3 * kSteps - 1);
}

TEST(Workers, repeated_failures_outside_steps_give_the_run_up_with_their_reason) {
  PoolRun run;
  try {
    run.go(5, {.jobs = 2}, [](std::uint64_t, std::uint64_t) { throw std::runtime_error("the disk is gone"); });
    FAIL();
  } catch (const InfrastructureError& e) {
    EXPECT_STREQ(e.what(), "the disk is gone");
  }
}

TEST(Workers, one_failure_outside_steps_is_retried_without_repeating_lines) {
  const pid_t parent = ::getpid();
  char marker[] = "/tmp/flashproof-workers-XXXXXX";
  const int fd = ::mkstemp(marker);
  ASSERT_GE(fd, 0);
  PoolRun run;
  run.go(4, {.jobs = 1}, [&](std::uint64_t task, std::uint64_t step) {
    ASSERT_NE(::getpid(), parent);
    if (task == 2 && step == 1 && ::unlink(marker) == 0) throw std::runtime_error("once");
  });
  ::close(fd);
  EXPECT_TRUE(run.complete);
  EXPECT_TRUE(run.deaths.empty());
  EXPECT_EQ(run.lines.size(), 4 * kSteps);
  EXPECT_EQ(run.lines.count("2:0"), 1U);
}

TEST(Workers, no_task_at_all_is_complete) {
  PoolRun run;
  run.go(0, {.jobs = 2}, [](auto, auto) {});
  EXPECT_TRUE(run.complete);
}

TEST(Workers, there_is_at_least_one_core) { EXPECT_GE(default_jobs(), 1); }

}  // namespace
}  // namespace flashproof
