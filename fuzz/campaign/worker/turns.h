// Which subject's turn it is in which slot: slices round robin, a local search behind each, minimising before both, and a
// pause for subjects whose workers keep dying. Knows no processes and no clock of its own.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "fuzz/campaign/worker/slices.h"

namespace flashproof {

struct Job {
  enum class Kind : std::uint8_t { fuzz, climb, minimise };
  Kind kind = Kind::fuzz;
  std::size_t subject = 0;
  double seconds = 0;
};

/// The longest that one process minimises a subject's findings, and that all of them go on after the campaign's end.
inline constexpr double kMinimiseSeconds = 120;

class Turns {
 public:
  /// `order`: the subjects' indices as their turns come.
  Turns(std::vector<std::size_t> order, double slice, bool climb, std::size_t slots);

  /// What a free slot does now; nothing: wait. `left`: seconds until the campaign ends.
  std::optional<Job> next(std::size_t slot, double now, double left);
  /// Only what is left to minimise; this may go on for kMinimiseSeconds after the campaign's end.
  std::optional<Job> next_minimise(double left);

  void want_minimise(std::size_t subject);
  /// The slot's job goes on for the rest of its time.
  void again(std::size_t slot, const Job& job, double had);
  /// The slot's slice is over before its time: no local search follows.
  void crashed(std::size_t slot, std::size_t subject, double now);
  void survived(std::size_t subject) { crashes_[subject] = 0; }

 private:
  std::vector<std::size_t> order_;
  double slice_;
  bool climb_;
  std::size_t cursor_ = 0;
  std::vector<std::deque<Job>> pending_;  // per slot
  std::deque<std::size_t> minimise_;
  std::vector<int> crashes_;      // of a subject, without a slice that it survived
  std::vector<double> ready_at_;  // of a subject, seconds
};

}  // namespace flashproof
