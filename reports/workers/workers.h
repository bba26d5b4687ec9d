// A pool of forked worker processes that hand text lines back. A task is a number; its steps run in order. Because a
// worker announces each step before it starts it, a worker that crashes has named the step that ended it, and a new worker
// goes on with the next one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "reference/system/process.h"

namespace flashproof {

/// What a worker reports to its parent. Texts must not contain '\n'.
class StepReporter {
 public:
  explicit StepReporter(int descriptor) : descriptor_(descriptor) {}
  void starting(std::uint64_t step);  // from here on a crash is this step's fault
  void returned();                    // until here
  /// The step is done; never run it again. One message: a crash leaves all of it or nothing.
  void result(std::uint64_t step, std::string_view text);
  void note(std::string_view text);  // about the task, not tied to a step
  void task_done();
  void infrastructure(std::string_view why);

 private:
  void send(char tag, std::string_view text);
  int descriptor_;
};

struct PoolHooks {
  /// How many steps a task has: it is done when all of them have been answered. Without it a worker's report decides.
  std::function<std::uint64_t(std::uint64_t task)> steps;
  /// In the worker: runs steps first_step, first_step + 1, ... of the task.
  std::function<void(std::uint64_t task, std::uint64_t first_step, StepReporter& reporter)> work;
  /// In the parent: what the worker handed to reporter.result and reporter.note.
  std::function<void(std::uint64_t task, std::uint64_t step, const std::string& text)> result;
  std::function<void(const std::string& text)> note;
  /// In the parent: this step ended its process; `how` is "was killed by signal 11 (Segmentation fault)" or alike.
  std::function<void(std::uint64_t task, std::uint64_t step, const std::string& how)> crashed;
  /// In the parent, now and then: how many tasks are done.
  std::function<void(std::uint64_t done)> progress;
};

struct PoolOptions {
  int jobs = 1;
  double step_seconds = 300;     // a step that takes longer is ended, as if it had crashed
  int infrastructure_limit = 3;  // so often one task may fail outside steps without a new result; then the run is over
};

struct PoolOutcome {
  bool complete = false;  // every task is done
  std::string failure;    // why the run was given up; empty otherwise: then an incomplete run was stopped
};

/// Runs tasks 0 .. tasks−1, until all are done, stop_requested() (then keeping what it has), or the machine fails for good (workers that cannot be
/// started or keep failing outside any step). Whatever was received by then counts. No worker outlives the call.
PoolOutcome run_pool(std::uint64_t tasks, const PoolHooks& hooks, const PoolOptions& options);

}  // namespace flashproof
