// A pool of forked worker processes that hand text lines back. A task is a number; its steps run in order. Because a
// worker announces each step before it starts it, a worker that dies names the step that killed it, and a new worker
// goes on with the next one.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace flashproof {

/// What a worker may say to its parent. Lines must not contain '\n'.
class WorkerVoice {
 public:
  explicit WorkerVoice(int descriptor) : descriptor_(descriptor) {}
  void starting(std::uint64_t step);  // from here on a death is this step's fault
  void returned();                    // until here
  void line(std::string_view text);
  void complete(std::uint64_t step);  // its lines are sent; never run it again
  void task_done();
  void infrastructure(std::string_view why);

 private:
  void send(char tag, std::string_view text);
  int descriptor_;
};

struct PoolHooks {
  /// In the worker: runs steps first_step, first_step + 1, ... of the task.
  std::function<void(std::uint64_t task, std::uint64_t first_step, WorkerVoice& voice)> work;
  /// In the parent: a line of the worker that runs this task.
  std::function<void(std::uint64_t task, const std::string& line)> receive;
  /// In the parent: this step ended its process; `how` is "killed by signal 11 (Segmentation fault)" or alike.
  std::function<void(std::uint64_t task, std::uint64_t step, const std::string& how)> died;
  /// In the parent, now and then: how many tasks are done.
  std::function<void(std::uint64_t done)> progress;
};

struct PoolOptions {
  int jobs = 1;
  double step_seconds = 300;     // a step that takes longer is ended, as if it had died
  int infrastructure_limit = 3;  // that many failures outside steps, and the run is given up
};

/// Runs tasks 0 .. tasks−1. Returns false if stop_requested() cut it short. Throws InfrastructureError when workers
/// keep failing outside any step. No worker outlives the call.
bool run_pool(std::uint64_t tasks, const PoolHooks& hooks, const PoolOptions& options);

/// Installs handlers for SIGINT and SIGTERM that make run_pool stop, keeping what it has.
void stop_on_signals();
bool stop_requested();

/// Number of cores this process may use, at least 1.
int default_jobs();

}  // namespace flashproof
