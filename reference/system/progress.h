// Progress on stderr: a bar with rate and time left on a terminal, elsewhere a plain line after one second and then every ten.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace flashproof {

class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();  // clears the bar
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `share`: of the time of all, which what is done has taken; where it is not known, as many as are done.
  void update(std::uint64_t done, std::uint64_t total, std::optional<double> share = {});
  /// A line that stays, at once.
  void say(const std::string& line) const;

 private:
  std::string what_;
  bool terminal_;
  std::chrono::steady_clock::time_point start_, last_;
};

/// For work that is one call and cannot say how far it is: for how long it has run, every second on a terminal, elsewhere every
/// ten.
class Heartbeat {
 public:
  explicit Heartbeat(std::string what);
  ~Heartbeat();  // clears the line
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  void beat(const std::string& what);

  bool terminal_;
  bool done_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace flashproof
