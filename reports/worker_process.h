// One worker process as its parent sees it: how it starts, what it was told, how it ended. Used by the pool only.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

#include "reports/workers.h"

namespace flashproof {

struct WorkerProcess {
  pid_t pid = -1;
  int to = -1, from = -1;  // pipes
};

/// In a child right after fork(): it ends with `parent` (its pid, asked before the fork), and the signals that ask the
/// whole process group to stop leave it alone. The parent decides what becomes of its children.
void obey_parent(pid_t parent);

/// Forks. `in_child` runs first, to close what the child must not inherit. The child reads "task first_step" lines
/// until its pipe closes, and calls hooks.work for each.
WorkerProcess start_worker(const PoolHooks& hooks, const std::function<void()>& in_child);

/// Writes everything; throws InfrastructureError if the other end is gone.
void write_all(int descriptor, std::string_view text);

/// Closes the pipes and waits for the end, which it brings about if that takes a second. Returns the wait status, 0 if it never started.
int bury_worker(WorkerProcess& worker);

}  // namespace flashproof
