// One worker process as its parent sees it: how it starts, what it was told, how it ended. Used by the pool only.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

#include "reports/workers/workers.h"

namespace flashproof {

struct WorkerProcess {
  pid_t pid = -1;
  int to = -1, from = -1;  // pipes
};

/// Forks. `in_child` runs first, to close what the child must not inherit. The child reads "task first_step" lines
/// until its pipe closes, and calls hooks.work for each.
WorkerProcess start_worker(const PoolHooks& hooks, const std::function<void()>& in_child);

/// Closes the pipes and waits for the end, which it brings about if that takes a second. Returns the wait status, 0 if it never started.
int reap_worker(WorkerProcess& worker);

}  // namespace flashproof
