#include "fuzz/campaign/worker/turns.h"

#include <algorithm>
#include <cmath>

namespace flashproof {

Turns::Turns(std::vector<std::size_t> order, double slice, bool climb, std::size_t slots)
    : order_(std::move(order)),
      slice_(slice),
      climb_(climb),
      pending_(slots),
      crashes_(order_.size()),
      ready_at_(order_.size()) {}

std::optional<Job> Turns::next_minimise(double left) {
  const double allowed = std::min(kMinimiseSeconds, left + kMinimiseSeconds);
  if (minimise_.empty() || allowed < kLeastPhase) return std::nullopt;
  const Job job{Job::Kind::minimise, minimise_.front(), allowed};
  minimise_.pop_front();
  return job;
}

std::optional<Job> Turns::next(std::size_t slot, double now, double left) {
  if (left < kLeastPhase) return std::nullopt;
  if (const auto job = next_minimise(left)) return job;
  auto& pending = pending_[slot];
  while (!pending.empty()) {
    Job job = pending.front();
    pending.pop_front();
    job.seconds = std::min(job.seconds, left);
    if (job.seconds >= kLeastPhase) return job;
  }
  for (std::size_t tried = 0; tried < order_.size(); ++tried) {
    const std::size_t subject = order_[cursor_++ % order_.size()];
    if (ready_at_[subject] > now) continue;
    const Phases phases = split_slice(slice_, left, climb_);
    if (phases.climb > 0) pending.push_back({Job::Kind::climb, subject, phases.climb});
    return Job{Job::Kind::fuzz, subject, phases.fuzz};
  }
  return std::nullopt;
}

void Turns::want_minimise(std::size_t subject) {
  if (std::find(minimise_.begin(), minimise_.end(), subject) == minimise_.end()) minimise_.push_back(subject);
}

void Turns::again(std::size_t slot, const Job& job, double had) {
  pending_[slot].push_front({job.kind, job.subject, job.seconds - had});
}

void Turns::crashed(std::size_t slot, std::size_t subject, double now) {
  constexpr double kFirstPause = 0.1, kLongestPause = 60;
  constexpr int kMostDoublings = 10;
  pending_[slot].clear();
  ready_at_[subject] =
      now + std::min(kLongestPause, std::ldexp(kFirstPause, std::min(crashes_[subject], kMostDoublings)));
  ++crashes_[subject];
}

}  // namespace flashproof
