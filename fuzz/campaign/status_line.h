// How a running campaign shows itself on stderr.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "fuzz/campaign/numbers.h"

namespace flashproof {

/// What the line says beside the archive's numbers.
struct StatusFacts {
  std::uint64_t corpus_files = 0, rejected = 0;
  std::size_t workers = 0;
  double seconds_left = 0;
  double per_second = 0;  // executions
};
std::string status_text(const std::string& target, const Summary& numbers, const StatusFacts& progress);

/// Once a second, on a terminal in one line that is written again, cut to its width; else a plain line, the first after a second, then every
/// ten.
class StatusLine {
 public:
  StatusLine();
  ~StatusLine();  // clears the terminal's line
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  /// Whether it is time; reading an archive costs something, so ask before.
  bool due() const;
  void show(const std::string& text);
  /// A plain line of its own.
  void say(const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_, first_ = true;
  Clock::time_point last_;
};

}  // namespace flashproof
