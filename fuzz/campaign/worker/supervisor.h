// Worker processes in slots: started, asked to stop when their time is over, killed if they do not, reaped. What they do
// and what their end means is the caller's business.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <vector>

#include "fuzz/campaign/worker/target_process.h"

namespace flashproof {

/// So long after stop() a worker is killed.
inline constexpr double kGraceSeconds = 10;

struct WorkerEnd {
  std::size_t slot = 0;
  int status = 0;
  bool asked = false;    // we had sent it SIGTERM or SIGKILL
  bool overdue = false;  // it did not end within its time, was not stopped, and was killed
  double seconds = 0;    // that it ran
};

class Supervisor {
 public:
  explicit Supervisor(std::size_t slots, double grace = kGraceSeconds) : workers_(slots), grace_(grace) {}
  ~Supervisor();  // kills what is left
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  std::size_t slots() const { return workers_.size(); }
  bool busy(std::size_t slot) const { return workers_[slot].has_value(); }
  std::size_t running() const;

  /// Into a slot that is not busy. After `seconds` it gets SIGTERM, `patience` seconds later SIGKILL. Throws
  /// InfrastructureError.
  void start(std::size_t slot, const Command& command, const std::filesystem::path& log, double seconds,
             double patience);
  /// Those that ended since the last call; sends the signals that are due. Does not wait.
  std::vector<WorkerEnd> poll();
  /// SIGTERM to all, now; poll() follows with SIGKILL after the grace.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  struct Worker {
    pid_t pid = -1;
    Clock::time_point since, ask_at, kill_at;
    bool asked = false, killed = false, stopped = false;
  };

  std::vector<std::optional<Worker>> workers_;
  double grace_;
};

}  // namespace flashproof
