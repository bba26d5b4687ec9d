#include "fuzz/campaign/worker/supervisor.h"

#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

namespace flashproof {
namespace {

auto length(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

Supervisor::~Supervisor() {
  for (const auto& worker : workers_) {
    if (worker) ::kill(-worker->pid, SIGKILL);
  }
  for (const auto& worker : workers_) {
    int status = 0;
    while (worker && ::waitpid(worker->pid, &status, 0) < 0 && errno == EINTR) {
    }
  }
}

std::size_t Supervisor::running() const {
  return static_cast<std::size_t>(
      std::count_if(workers_.begin(), workers_.end(), [](const auto& w) { return w.has_value(); }));
}

void Supervisor::start(std::size_t slot, const Command& command, const std::filesystem::path& log, double seconds,
                       double patience) {
  const auto now = Clock::now();
  const auto ask_at = now + length(seconds);
  workers_[slot] = Worker{start_target(command, log), now, ask_at, ask_at + length(patience)};
}

void Supervisor::stop() {
  const auto now = Clock::now();
  for (auto& worker : workers_) {
    if (!worker || worker->stopped) continue;
    worker->stopped = true;
    worker->ask_at = std::min(worker->ask_at, now);
    worker->kill_at = std::min(worker->kill_at, now + length(grace_));
  }
}

std::vector<WorkerEnd> Supervisor::poll() {
  std::vector<WorkerEnd> ended;
  for (std::size_t slot = 0; slot < workers_.size(); ++slot) {
    if (!workers_[slot]) continue;
    Worker& worker = *workers_[slot];
    const auto now = Clock::now();
    int status = 0;
    if (::waitpid(worker.pid, &status, WNOHANG) == worker.pid) {
      ::kill(-worker.pid, SIGKILL);  // what it may have started itself
      ended.push_back({slot, status, worker.asked, worker.killed && !worker.stopped,
                       std::chrono::duration<double>(now - worker.since).count()});
      workers_[slot].reset();
      continue;
    }
    if (!worker.asked && now >= worker.ask_at) {
      worker.asked = true;
      ::kill(worker.pid, SIGTERM);
    }
    if (!worker.killed && now >= worker.kill_at) {
      worker.killed = true;
      ::kill(-worker.pid, SIGKILL);
    }
  }
  return ended;
}

}  // namespace flashproof
