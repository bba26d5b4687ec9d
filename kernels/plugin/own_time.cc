#include "kernels/plugin/own_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

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

double own_time(double passed, const ProcessTime& before, const ProcessTime& after, unsigned processors) {
  double waited = 0, ran = 0;
  for (const auto& [thread, then] : before) {
    if (!after.contains(thread)) waited = passed;  // it has ended, and how long it waited before that is not known
  }
  for (const auto& [thread, now] : after) {
    const auto found = before.find(thread);
    const ThreadTime then = found == before.end() ? ThreadTime{} : found->second;
    waited = std::max(waited, now.waited - then.waited);
    ran += std::max(0.0, now.ran - then.ran);
  }
  return std::clamp(std::max(passed - waited, ran / std::max(1U, processors)), 0.0, std::max(0.0, passed));
}

double OwnTime::on_the_clock() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

double OwnTime::passed() {
  constexpr double kLook = 0.005;
  const double clock = on_the_clock();
  if (clock - looked_ < kLook) return own_ + (clock - looked_);
  std::optional<ProcessTime> now = process_time(pid_);
  const double since = clock - looked_;
  own_ += last_ && now ? own_time(since, *last_, *now, std::thread::hardware_concurrency()) : since;
  last_ = std::move(now);
  looked_ = clock;
  return own_;
}

}  // namespace flashproof
