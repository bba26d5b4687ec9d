#include "reference/system/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace flashproof {

using Clock = std::chrono::steady_clock;

Progress::Progress(std::string what)
    : what_(std::move(what)), terminal_(::isatty(STDERR_FILENO) == 1), start_(Clock::now()), last_(start_) {}

Progress::~Progress() {
  if (terminal_) std::fputs("\r\033[K", stderr);
}

void Progress::update(std::uint64_t done, std::uint64_t total, std::optional<double> share) {
  const auto now = Clock::now();
  const double since_last = std::chrono::duration<double>(now - last_).count();
  if (since_last < (terminal_ ? 0.1 : last_ == start_ ? 1.0 : 10.0)) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = static_cast<double>(done) / seconds;
  std::string line = fmt::format("{} of {} {}, {:.{}f}/s", done, total, what_, rate, rate < 10 ? 1 : 0);
  const double part = share.value_or(static_cast<double>(done) / static_cast<double>(total));
  if (done > 0 && part > 0) line += fmt::format(", {:.0f} s left", seconds * (1 - part) / part);
  if (!terminal_) {
    std::fprintf(stderr, "flashproof: %s\n", line.c_str());
    return;
  }
  constexpr std::uint64_t kBar = 30;
  const std::uint64_t filled = total == 0 ? kBar : kBar * done / total;
  std::fprintf(stderr, "\r\033[K[%s%s] %s", std::string(filled, '#').c_str(), std::string(kBar - filled, '.').c_str(),
               line.c_str());
}

void Progress::say(const std::string& line) const {
  std::fprintf(stderr, "%sflashproof: %s\n", terminal_ ? "\r\033[K" : "", line.c_str());
}

Heartbeat::Heartbeat(std::string what)
    : terminal_(::isatty(STDERR_FILENO) == 1), thread_([this, what = std::move(what)] { beat(what); }) {}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  wake_.notify_one();
  thread_.join();
  if (terminal_) std::fputs("\r\033[K", stderr);
}

void Heartbeat::beat(const std::string& what) {
  const auto start = Clock::now();
  const auto step = std::chrono::seconds(terminal_ ? 1 : 10);
  std::unique_lock lock(mutex_);
  for (auto next = start + step; !wake_.wait_until(lock, next, [this] { return done_; }); next += step) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(next - start).count();
    std::fprintf(stderr, terminal_ ? "\r\033[K%s: %lld s" : "flashproof: %s: %lld s\n", what.c_str(),
                 static_cast<long long>(seconds));
  }
}

}  // namespace flashproof
