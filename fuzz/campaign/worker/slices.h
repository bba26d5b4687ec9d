// How a campaign divides its work: shards over machines, slices over subjects, a share of each slice for the local
// search. Pure functions of their arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flashproof {

/// Shard `index` of `count`, index in 0 .. count−1: it has every count-th subject, from the index-th on.
struct Shard {
  std::uint64_t index = 0, count = 1;

  auto operator<=>(const Shard&) const = default;
};

inline constexpr std::uint64_t kMostShards = 1'000'000;

/// "2/8". Throws UsageError naming --shard and the legal range.
Shard parse_shard(std::string_view text);

/// What a scheduler says through the environment, as `value(NAME)` tells it: SLURM_ARRAY_TASK_ID with _COUNT, _MIN and
/// _STEP, or JOB_COMPLETION_INDEX with JOB_COMPLETIONS (Kubernetes sets only the index; the job's description sets the count).
/// Nothing if it says nothing. Throws UsageError for half of it or for nonsense.
using Environment = std::function<std::optional<std::string>(const char* name)>;
std::optional<Shard> shard_of(const Environment& value);

/// Of `count` things in order, the indices that are this shard's. A shard beyond the last thing shares one: with seeds of
/// its own it finds other inputs.
std::vector<std::size_t> shard_members(std::size_t count, const Shard& shard);

/// Seconds of one slice: max(5, min(60, S·jobs/subjects)).
double slice_seconds(double seconds, int jobs, std::size_t subjects);

/// The share of a slice that goes to the local search: a slice of 60 s climbs for 15 s.
inline constexpr double kClimbShare = 0.25;
/// Shorter than this no process is started: it would end before it has done anything.
inline constexpr double kLeastPhase = 0.2;

struct Phases {
  double fuzz = 0, climb = 0;  // seconds; 0: this phase is left out
};
/// A slice of `slice` seconds of which `left` seconds are still to be had before the campaign ends.
Phases split_slice(double slice, double left, bool climb);

/// Indices of the subjects in the order of their turns: who had the fewest seconds so far comes first, of equals in order.
std::vector<std::size_t> turns(const std::vector<double>& seconds_had);

/// The engine's seed for one start of one process: 1 .. 2^31−1 (0 would mean a random one), another for each start.
std::uint32_t engine_seed(std::uint64_t campaign_seed, std::uint64_t shard, std::uint64_t restart, std::uint64_t start);

}  // namespace flashproof
