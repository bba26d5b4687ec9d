#include "reports/workers/workers.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <thread>

#include "reference/system/error.h"

namespace flashproof {
namespace {

using StepId = std::pair<std::uint64_t, std::uint64_t>;

constexpr std::uint64_t kSteps = 3;

/// Runs `tasks` tasks of three steps, calls `inside` in the worker while a step runs, and collects what arrives.
struct PoolRun {
  std::multiset<std::string> lines;
  std::map<StepId, std::string> deaths;
  PoolOutcome outcome;
  std::function<void(std::uint64_t)> progress;  // in the parent, after it has read what there was

  void go(std::uint64_t tasks, PoolOptions options, const std::function<void(std::uint64_t, std::uint64_t)>& inside) {
    PoolHooks hooks;
    hooks.work = [&](std::uint64_t task, std::uint64_t first, StepReporter& reporter) {
      for (std::uint64_t step = first; step < kSteps; ++step) {
        reporter.starting(step);
        inside(task, step);
        reporter.returned();
        reporter.result(step, std::to_string(task) + ":" + std::to_string(step));
      }
    };
    hooks.result = [&](std::uint64_t task, std::uint64_t step, const std::string& line) {
      if (line == "refused") throw UsageError("not a result");
      EXPECT_EQ(line, std::to_string(task) + ":" + std::to_string(step));
      lines.insert(line);
    };
    hooks.crashed = [&](std::uint64_t task, std::uint64_t step, const std::string& how) { deaths[{task, step}] = how; };
    hooks.progress = progress;
    outcome = run_pool(tasks, hooks, options);
  }
};

TEST(Workers, every_step_of_every_task_arrives_once_whatever_the_number_of_workers) {
  for (const int jobs : {1, 2, 7}) {
    PoolRun run;
    run.go(50, {.jobs = jobs}, [](auto, auto) {});
    EXPECT_TRUE(run.outcome.complete) << run.outcome.failure;
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
  EXPECT_TRUE(run.outcome.complete) << run.outcome.failure;
  EXPECT_EQ(run.lines.size(), 20 * kSteps - 2);
  EXPECT_EQ(run.lines.count("7:1"), 0U);
  EXPECT_EQ(run.lines.count("7:0"), 1U);
  EXPECT_EQ(run.lines.count("7:2"), 1U);
  ASSERT_EQ(run.deaths.size(), 2U);
  EXPECT_EQ((run.deaths[{7, 1}]), "was killed by signal 11 (Segmentation fault)");
  EXPECT_EQ((run.deaths[{9, 2}]), "exited with code 17");
}

TEST(Workers, a_step_without_end_is_ended) {
  PoolRun run;
  run.go(3, {.jobs = 1, .step_seconds = 0.3}, [](std::uint64_t task, std::uint64_t step) {
    if (task == 1 && step == 0) std::this_thread::sleep_for(std::chrono::hours(1));
  });
  EXPECT_TRUE(run.outcome.complete) << run.outcome.failure;
  ASSERT_EQ(run.deaths.size(), 1U);
  EXPECT_EQ((run.deaths[{1, 0}]), "gave no result within 0.3 s");
  EXPECT_EQ(run.lines.size(), 3 * kSteps - 1);
}

/// What runs in a step may do with descriptors and processes what it likes.
TEST(Workers, a_step_that_closes_its_pipes_and_runs_on_is_ended) {
  PoolRun run;
  run.go(3, {.jobs = 1}, [](std::uint64_t task, std::uint64_t step) {
    if (task != 1 || step != 0) return;
    for (int fd = 3; fd < 100; ++fd) ::close(fd);
    ::sleep(60);
  });
  EXPECT_TRUE(run.outcome.complete) << run.outcome.failure;
  ASSERT_EQ(run.deaths.size(), 1U);
  EXPECT_EQ((run.deaths[{1, 0}]), "was killed by signal 9 (Killed)");
  EXPECT_EQ(run.lines.size(), 3 * kSteps - 1);
}

TEST(Workers, a_process_that_a_step_leaves_behind_does_not_hide_its_end) {
  const auto begin = std::chrono::steady_clock::now();
  PoolRun run;
  run.go(2, {.jobs = 1}, [](std::uint64_t task, std::uint64_t step) {
    if (task != 0 || step != 1) return;
    if (::fork() == 0) {  // it holds the pipe
      for (int fd = 0; fd < 3; ++fd) ::close(fd);
      ::sleep(20);
      ::_exit(0);
    }
    ::_exit(17);
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_TRUE(run.outcome.complete) << run.outcome.failure;
  ASSERT_EQ(run.deaths.size(), 1U);
  EXPECT_EQ((run.deaths[{0, 1}]), "exited with code 17");
}

TEST(Workers, a_malformed_line_while_a_step_runs_is_its_end_and_the_rest_goes_on) {
  std::set<std::uint64_t> told;
  std::string how;
  PoolHooks hooks;
  hooks.work = [](std::uint64_t, std::uint64_t first, StepReporter& reporter) {
    for (std::uint64_t step = first; step < kSteps; ++step) {
      reporter.starting(step);
      reporter.result(step, step == 1 ? "refused" : "fine");
      reporter.returned();
    }
  };
  hooks.result = [&](std::uint64_t, std::uint64_t step, const std::string& line) {
    if (line == "refused") throw UsageError("not a result");
    told.insert(step);
  };
  hooks.crashed = [&](std::uint64_t, std::uint64_t step, const std::string& text) {
    how = std::to_string(step) + " " + text;
  };
  const PoolOutcome outcome = run_pool(1, hooks, {});
  EXPECT_TRUE(outcome.complete) << outcome.failure;
  EXPECT_EQ(how, "1 sent a malformed line: not a result");
  EXPECT_EQ(told, (std::set<std::uint64_t>{0, 2}));
}

/// The first worker is idle when the second one's step ends its process: it was started before that.
TEST(Workers, what_is_tried_again_begins_in_a_process_that_knows_of_the_death) {
  bool died = false, knows = false;
  PoolHooks hooks;
  hooks.work = [&](std::uint64_t task, std::uint64_t first, StepReporter& reporter) {
    if (task == 1 && first == 0) {
      reporter.starting(0);
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      ::_exit(17);
    }
    reporter.result(first, died ? "knows" : "knows nothing");
  };
  hooks.result = [&](std::uint64_t task, std::uint64_t, const std::string& line) {
    if (task == 1) knows = line == "knows";
  };
  hooks.crashed = [&](auto, auto, const std::string&) { died = true; };
  const PoolOutcome outcome = run_pool(2, hooks, {.jobs = 2});
  EXPECT_TRUE(outcome.complete) << outcome.failure;
  EXPECT_TRUE(died);
  EXPECT_TRUE(knows);
}

/// One task of three steps, in whose step 1 `forge` sends what it likes. What is accepted of it, and how step 1 ended.
struct ForgedRun {
  std::multiset<std::uint64_t> told;
  std::string death;
  PoolOutcome outcome;

  explicit ForgedRun(const std::function<void(StepReporter&)>& forge) {
    PoolHooks hooks;
    hooks.steps = [](std::uint64_t) { return kSteps; };
    hooks.work = [&](std::uint64_t, std::uint64_t first, StepReporter& reporter) {
      for (std::uint64_t step = first; step < kSteps; ++step) {
        reporter.starting(step);
        if (step == 1) forge(reporter);
        reporter.returned();
        reporter.result(step, "");
      }
    };
    hooks.result = [&](std::uint64_t, std::uint64_t step, const std::string&) { told.insert(step); };
    hooks.crashed = [&](std::uint64_t, std::uint64_t step, const std::string& how) {
      EXPECT_EQ(death, "") << "two deaths";
      death = std::to_string(step) + " " + how;
    };
    outcome = run_pool(1, hooks, {});
  }
};

TEST(Workers, steps_are_answered_once_and_in_order_and_a_task_ends_after_the_last) {
  const std::multiset<std::uint64_t> others{0, 2};
  const ForgedRun ahead([](StepReporter& reporter) { reporter.result(2, ""); });
  EXPECT_EQ(ahead.death, "1 sent a malformed line: step 2 in place of 1");
  EXPECT_EQ(ahead.told, others);
  const ForgedRun twice([](StepReporter& reporter) { reporter.result(0, ""); });
  EXPECT_EQ(twice.death, "1 sent a malformed line: step 0 in place of 1");
  EXPECT_EQ(twice.told, others);
  const ForgedRun skips([](StepReporter& reporter) { reporter.starting(2); });
  EXPECT_EQ(skips.death, "1 sent a malformed line: step 2 in place of 1");
  EXPECT_EQ(skips.told, others);
  const ForgedRun ends([](StepReporter& reporter) { reporter.task_done(); });
  EXPECT_EQ(ends.death, "1 sent a malformed line: the end of a task before step 1 was answered");
  EXPECT_EQ(ends.told, others);
  for (const ForgedRun* run : {&ahead, &twice, &skips, &ends}) {
    EXPECT_TRUE(run->outcome.complete) << run->outcome.failure;
  }
}

TEST(Workers, the_end_of_a_task_outside_a_step_counts_only_after_its_last_step) {
  const ForgedRun run([](StepReporter& reporter) {
    reporter.returned();
    reporter.task_done();
  });
  EXPECT_FALSE(run.outcome.complete);
  EXPECT_EQ(run.outcome.failure,
            "a worker process sent a malformed line: the end of a task before step 1 was answered");
}

TEST(Workers, a_task_that_keeps_failing_outside_steps_ends_the_run_and_keeps_what_arrived) {
  PoolRun run;
  run.go(5, {.jobs = 1}, [](std::uint64_t task, std::uint64_t step) {
    if (task == 2 && step == 1) throw std::runtime_error("the disk is gone");
  });
  EXPECT_FALSE(run.outcome.complete);
  EXPECT_EQ(run.outcome.failure, "the disk is gone");
  EXPECT_EQ(run.lines.size(), 2 * kSteps + 1);
  EXPECT_TRUE(run.deaths.empty());
}

/// Each step's first attempt fails: many more failures than the limit, but never without progress in between.
TEST(Workers, stray_failures_do_not_add_up) {
  std::string folder = testing::TempDir() + "flashproof-workers-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  PoolRun run;
  run.go(6, {.jobs = 2}, [&](std::uint64_t task, std::uint64_t step) {
    const std::string tried = folder + "/" + std::to_string(task) + "." + std::to_string(step);
    if (::access(tried.c_str(), F_OK) == 0) return;
    std::ofstream(tried) << "x";
    throw std::runtime_error("stray");
  });
  EXPECT_TRUE(run.outcome.complete) << run.outcome.failure;
  EXPECT_EQ(run.lines.size(), 6 * kSteps);
  EXPECT_EQ(std::set<std::string>(run.lines.begin(), run.lines.end()).size(), 6 * kSteps);
  std::filesystem::remove_all(folder);
}

TEST(Workers, a_malformed_line_is_a_failure_of_the_machine) {
  for (const char* text : {"refused", "nonsense"}) {
    PoolHooks hooks;
    hooks.work = [&](std::uint64_t, std::uint64_t, StepReporter& reporter) { reporter.result(0, text); };
    hooks.result = [&](std::uint64_t, std::uint64_t, const std::string& line) {
      if (line == "refused") throw UsageError("not a result");
      (void)std::stoull(line);
    };
    const PoolOutcome outcome = run_pool(1, hooks, {});
    EXPECT_FALSE(outcome.complete);
    EXPECT_EQ(outcome.failure.find("a worker process sent a malformed line: "), 0U) << outcome.failure;
  }
}

/// Ctrl-C and `kill` of the whole group reach the workers, too; the parent alone decides.
TEST(Workers, signals_that_ask_to_stop_end_no_worker) {
  PoolRun run;
  run.go(4, {.jobs = 2}, [](auto, auto) {
    std::raise(SIGTERM);
    std::raise(SIGINT);
  });
  EXPECT_TRUE(run.outcome.complete);
  EXPECT_TRUE(run.deaths.empty());
  EXPECT_EQ(run.lines.size(), 4 * kSteps);
}

/// In a child: the request to stop cannot be taken back. The step asks the parent to stop and then dies. The parent is slow: when
/// it learns of the request, the line of the step before is in the pipe.
TEST(Workers, a_death_after_the_request_to_stop_is_no_finding_and_loses_no_line) {
  const auto stopped_run = [] {
    stop_on_signals();
    PoolRun run;
    run.progress = [](auto) { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
    run.go(2, {.jobs = 1}, [](std::uint64_t, std::uint64_t step) {
      if (step != 1) return;
      ::kill(::getppid(), SIGTERM);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      ::raise(SIGKILL);
    });
    const bool fine = stop_requested() && !run.outcome.complete && run.outcome.failure.empty() && run.deaths.empty() &&
                      run.lines == std::multiset<std::string>{"0:0"};
    ::_exit(fine ? 0 : 1);
  };
  EXPECT_EXIT(stopped_run(), testing::ExitedWithCode(0), "");
}

/// A process may change the limits of another one of its user. In a child: its limits are its own.
TEST(Workers, a_run_that_may_not_wait_any_more_is_given_up) {
  const auto limited_run = [] {
    PoolRun run;
    run.go(2, {.jobs = 2}, [](auto, auto) {
      const rlimit none{0, 0};
      ::prlimit(::getppid(), RLIMIT_NOFILE, &none, nullptr);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    });
    ::_exit(!run.outcome.complete && run.outcome.failure.starts_with("waiting for worker processes: ") ? 0 : 1);
  };
  EXPECT_EXIT(limited_run(), testing::ExitedWithCode(0), "");
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
  EXPECT_TRUE(run.outcome.complete) << run.outcome.failure;
  EXPECT_TRUE(run.deaths.empty());
  EXPECT_EQ(run.lines.size(), 4 * kSteps);
  EXPECT_EQ(run.lines.count("2:0"), 1U);
}

TEST(Workers, no_task_at_all_is_complete) {
  PoolRun run;
  run.go(0, {.jobs = 2}, [](auto, auto) {});
  EXPECT_TRUE(run.outcome.complete) << run.outcome.failure;
}

TEST(Workers, there_is_at_least_one_core) { EXPECT_GE(default_jobs(), 1); }

}  // namespace
}  // namespace flashproof
