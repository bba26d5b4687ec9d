// The loop of a campaign: workers started, watched and followed up, until the time is over or something ends it. Used by
// campaign.cc only.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fuzz/archive/archive.h"
#include "fuzz/campaign/campaign.h"
#include "fuzz/campaign/folder.h"
#include "fuzz/campaign/status_line.h"
#include "fuzz/campaign/worker/crashes.h"
#include "fuzz/campaign/worker/supervisor.h"
#include "fuzz/campaign/worker/turns.h"

namespace flashproof {

/// What is settled before the first worker starts.
struct CampaignSetup {
  const CampaignOptions& options;
  const Machine& machine;
  std::filesystem::path program;
  std::vector<Listed> subjects;
  Shard shard;
  std::size_t jobs = 1;
  std::uint64_t restart = 0;
  CampaignFolder folder;
  Description description;

  Subject subject(const Listed& one) const { return {options.target, one.kernel, one.format, options.executor, "det"}; }
};

/// Throws InfrastructureError if less than kLeastFreeBytes are free.
void require_space(const Machine& machine, const CampaignFolder& folder);

class CampaignRun {
 public:
  CampaignRun(CampaignSetup& setup, Archive& archive, std::vector<std::size_t> order);
  int run();

 private:
  /// Why no new slice starts; a later one outranks.
  enum class Stop : std::uint8_t { no, time_over, finding, interrupted, failed };
  struct Slot {
    Job job;
    std::string run_id;
    std::filesystem::path log, artifact_prefix;
  };

  double now() const;
  void loop();
  void watch();
  void fill_slots();
  void start(std::size_t slot, const Job& job);
  void follow_up(const WorkerEnd& end);
  void after_death(const WorkerEnd& end, Ending ending, const CrashReport& report,
                   const std::filesystem::path& artifact);
  void count_fruitless(const WorkerEnd& end, const std::string& said);
  void find_unminimised(std::size_t subject);
  void stop(Stop why, const std::string& message = "");
  void show_status();
  int finish();

  CampaignSetup& setup_;
  Archive& archive_;
  Turns turns_;
  Supervisor supervisor_;
  StatusLine status_;
  std::vector<Slot> slots_;
  std::chrono::steady_clock::time_point begin_;
  Stop stop_ = Stop::no;
  std::string message_;    // of Stop::failed
  bool usage_ = false;     // it was the target's exit 2
  std::string driver_id_;  // of every run: shard, restart, pid, start, chance
  std::uint64_t started_ = 0;
  int fruitless_ = 0;                // workers in a row that ended before they had run an input
  std::set<std::string> minimised_;  // finding_name: tried, with or without success
  std::uint64_t rejected_ = 0, executions_before_ = 0;
  double next_space_check_ = 0, next_status_ = 0;
};

}  // namespace flashproof
