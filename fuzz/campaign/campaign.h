// A campaign: one target, its subjects one after the other in slices, a number of workers at once, until the time is over.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/campaign/worker/slices.h"
#include "fuzz/campaign/worker/supervisor.h"
#include "fuzz/campaign/worker/worker_command.h"

namespace flashproof {

struct CampaignOptions {
  std::string target;
  double seconds = 60;
  int jobs = 0;  // 0: one per core, on a GPU one
  std::vector<std::string> kernels, formats;
  std::string executor = "cpu", guide = "counters";
  std::uint64_t seed = 1;
  std::optional<Shard> shard;  // nothing: what the environment says, else all
  bool climb = true, stop_on_finding = false;
  std::filesystem::path out;      // empty: out/fuzz/TARGET
  std::filesystem::path targets;  // folder of the fuzz_NAME programs; empty: beside this program
  std::filesystem::path seeds;    // seed corpora of all targets: TARGET/ has inputs, TARGET.txt case lines
};

/// What a campaign asks its machine; tests give it answers of their own.
struct Machine {
  /// Bytes that may still be written where this path is; throws InfrastructureError.
  std::function<std::uint64_t(const std::filesystem::path&)> free_bytes;
  std::function<bool()> stop_requested;
  Environment environment;
  // A worker that does not end: seconds that it has after the SIGTERM at the end of its time, and after stop().
  double patience = kInputSeconds + kGraceSeconds, grace = kGraceSeconds;
};
Machine this_machine();

/// Less than this free on the disk of OUT, and the campaign stops.
inline constexpr std::uint64_t kLeastFreeBytes = 64U << 20U;

/// Runs it. Returns the exit code: 0, or 1 if the archive has findings against us. Prints the table on stdout, also before it throws
/// after the workers have begun. Throws UsageError, InfrastructureError.
int run_campaign(const CampaignOptions& options, const Machine& machine);

}  // namespace flashproof
