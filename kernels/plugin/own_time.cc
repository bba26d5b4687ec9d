#include "kernels/plugin/own_time.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include "reference/system/child_process.h"

namespace flashproof {

std::optional<ProcessTime> process_time(pid_t pid) {
  constexpr double kNanosecond = 1e-9;
  ProcessTime times;
  std::error_code error;
  for (std::filesystem::directory_iterator at(fmt::format("/proc/{}/task", pid), error), end; !error && at != end;
       at.increment(error)) {
    std::ifstream file(at->path() / "schedstat");
    std::uint64_t ran = 0, waited = 0;
    if (!(file >> ran >> waited)) continue;  // the thread has ended
    times[static_cast<pid_t>(std::atoi(at->path().filename().c_str()))] = {kNanosecond * static_cast<double>(ran),
                                                                           kNanosecond * static_cast<double>(waited)};
  }
  if (error || times.empty()) return std::nullopt;
  return times;
}

namespace {

/// Of a thread, from /proc/PID/task/TID/stat, whose second field, the name in parentheses, may hold anything; 0: it has ended.
char state_of(const std::filesystem::path& task) {
  std::ifstream file(task / "stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_ends = line.rfind(") ");
  return name_ends == std::string::npos || name_ends + 2 >= line.size() ? '\0' : line[name_ends + 2];
}

int ready_threads(pid_t pid) {
  int ready = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator at(fmt::format("/proc/{}/task", pid), error), end; !error && at != end;
       at.increment(error)) {
    ready += state_of(at->path()) == 'R' ? 1 : 0;
  }
  return ready;
}

/// That its threads ran, in all; 0 where it has ended.
double processor_seconds(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

void let_threads_run(pid_t pid, double most) {
  constexpr double kRun =
      1e-4;  // seconds of each: more than it takes to come back from the system, or to be stopped by it
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(most);
  const double before = processor_seconds(pid);
  const std::filesystem::path first = fmt::format("/proc/{}/task/{}", pid, pid);
  while (!has_ended(pid) && std::chrono::steady_clock::now() < until) {
    const int ready = ready_threads(pid);
    const bool ran = ready == 0 || processor_seconds(pid) - before >= kRun * ready;
    if (ran && state_of(first) == 'S') return;  // one that is being ended does not sleep
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

ThreadTime between(double passed, const ProcessTime& before, const ProcessTime& after) {
  ThreadTime sum;
  for (const auto& [thread, then] : before) {
    if (!after.contains(thread)) sum.waited = passed;  // it has ended, and how long it waited before that is not known
  }
  for (const auto& [thread, now] : after) {
    const auto found = before.find(thread);
    const ThreadTime then = found == before.end() ? ThreadTime{} : found->second;
    sum.waited = std::max(sum.waited, now.waited - then.waited);
    sum.ran += std::max(0.0, now.ran - then.ran);
  }
  return sum;
}

double own_time(double passed, const ThreadTime& sum, unsigned processors) {
  return std::clamp(std::max(passed - sum.waited, sum.ran / std::max(1U, processors)), 0.0, std::max(0.0, passed));
}

double OwnTime::on_the_clock() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

double OwnTime::passed() {
  constexpr double kLook = 0.005;
  const double clock = on_the_clock();
  if (clock - looked_ >= kLook) {
    std::optional<ProcessTime> now = process_time(pid_);
    if (last_ && now) {
      const ThreadTime more = between(clock - looked_, *last_, *now);
      sum_.ran += more.ran, sum_.waited += more.waited;
    }
    last_ = std::move(now);
    looked_ = clock;
  }
  return own_time(clock, sum_, std::thread::hardware_concurrency());
}

}  // namespace flashproof
