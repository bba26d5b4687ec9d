// Progress on stderr: a bar with rate and time left on a terminal, elsewhere a plain line after one second and then every ten.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace flashproof {

class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();  // clears the bar
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::uint64_t done, std::uint64_t total);

 private:
  std::string what_;
  bool terminal_;
  std::chrono::steady_clock::time_point start_, last_;
};

}  // namespace flashproof
