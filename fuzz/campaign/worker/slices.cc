#include "fuzz/campaign/worker/slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "reference/system/error.h"
#include "reference/system/text.h"

namespace flashproof {
namespace {

std::uint64_t number(const char* name, const std::string& text, std::uint64_t least, std::uint64_t most) {
  const auto value = parse_u64(text);
  if (!value || *value < least || *value > most) {
    throw UsageError(fmt::format("environment variable {} {}: must be {}..{}", name, quote(text), least, most));
  }
  return *value;
}

std::optional<Shard> shard_of_slurm(const Environment& value) {
  const auto id = value("SLURM_ARRAY_TASK_ID");
  if (!id) return std::nullopt;
  const auto count = value("SLURM_ARRAY_TASK_COUNT");
  if (!count) {
    throw UsageError("SLURM_ARRAY_TASK_ID without SLURM_ARRAY_TASK_COUNT: say which shard this is with --shard i/N");
  }
  constexpr std::uint64_t kMostTasks = 4'000'000'000;
  const std::uint64_t least =
      number("SLURM_ARRAY_TASK_MIN", value("SLURM_ARRAY_TASK_MIN").value_or("0"), 0, kMostTasks);
  const std::uint64_t step =
      number("SLURM_ARRAY_TASK_STEP", value("SLURM_ARRAY_TASK_STEP").value_or("1"), 1, kMostTasks);
  const Shard shard{(number("SLURM_ARRAY_TASK_ID", *id, least, kMostTasks) - least) / step,
                    number("SLURM_ARRAY_TASK_COUNT", *count, 1, kMostShards)};
  if (shard.index >= shard.count) {
    throw UsageError(
        fmt::format("SLURM_ARRAY_TASK_ID {}: beyond its array of {} tasks from {} in steps of {}; --shard i/N says it",
                    *id, shard.count, least, step));
  }
  return shard;
}

std::optional<Shard> shard_of_kubernetes(const Environment& value) {
  const auto index = value("JOB_COMPLETION_INDEX");
  if (!index) return std::nullopt;
  const auto count = value("JOB_COMPLETIONS");
  if (!count) {
    throw UsageError(
        "JOB_COMPLETION_INDEX without JOB_COMPLETIONS: set it in the job's description, or say --shard i/N");
  }
  const Shard shard{0, number("JOB_COMPLETIONS", *count, 1, kMostShards)};
  return Shard{number("JOB_COMPLETION_INDEX", *index, 0, shard.count - 1), shard.count};
}

}  // namespace

Shard parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto count = slash == std::string_view::npos ? std::nullopt : parse_u64(text.substr(slash + 1));
  const auto index = slash == std::string_view::npos ? std::nullopt : parse_u64(text.substr(0, slash));
  if (!index || !count || *count < 1 || *count > kMostShards || *index >= *count) {
    throw UsageError(fmt::format("--shard {}: must be i/N with N in 1..{} and i in 0..N-1", quote(text), kMostShards));
  }
  return {*index, *count};
}

std::optional<Shard> shard_of(const Environment& value) {
  const auto slurm = shard_of_slurm(value);
  return slurm ? slurm : shard_of_kubernetes(value);
}

std::vector<std::size_t> shard_members(std::size_t count, const Shard& shard) {
  std::vector<std::size_t> result;
  for (std::size_t i = shard.index; i < count; i += shard.count) result.push_back(i);
  if (result.empty() && count > 0) result.push_back(shard.index % count);
  return result;
}

double slice_seconds(double seconds, int jobs, std::size_t subjects) {
  constexpr double kShortest = 5, kLongest = 60;
  return std::max(kShortest,
                  std::min(kLongest, seconds * jobs / static_cast<double>(std::max<std::size_t>(1, subjects))));
}

Phases split_slice(double slice, double left, bool climb) {
  const double length = std::min(slice, left);
  if (length < kLeastPhase) return {};
  const double share = climb ? kClimbShare * length : 0;
  if (share < kLeastPhase) return {length, 0};
  return {length - share, share};
}

std::vector<std::size_t> turns(const std::vector<double>& seconds_had) {
  std::vector<std::size_t> order(seconds_had.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return seconds_had[a] < seconds_had[b]; });
  return order;
}

std::uint32_t engine_seed(std::uint64_t campaign_seed, std::uint64_t shard, std::uint64_t restart,
                          std::uint64_t start) {
  // SplitMix64 (Steele, Lea, Flood 2014) over the four numbers, one after the other.
  std::uint64_t state = 0;
  for (const std::uint64_t part : {campaign_seed, shard, restart, start}) {
    state += 0x9e3779b97f4a7c15U + part;
    state = (state ^ (state >> 30U)) * 0xbf58476d1ce4e5b9U;
    state = (state ^ (state >> 27U)) * 0x94d049bb133111ebU;
    state ^= state >> 31U;
  }
  constexpr std::uint64_t kSeeds = 0x7fffffff;
  return static_cast<std::uint32_t>(1 + state % kSeeds);
}

}  // namespace flashproof
