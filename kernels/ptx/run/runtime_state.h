// The state of one launch, behind Context::runtime.
#pragma once

#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kernels/ptx/run/async_copies.h"
#include "kernels/ptx/run/bulk_copies.h"
#include "kernels/ptx/run/launch.h"
#include "kernels/ptx/run/mbarriers.h"
#include "kernels/ptx/run/races.h"

namespace flashproof::ptx {

/// Lanes that stand in a barrier, or that have come to it and gone on.
struct Waiting {
  std::uint32_t barrier, threads, lanes, votes;
  int next;  // block of code; -1: they have gone on
  int line;
  Released released;  // of those
  bool stays() const { return next >= 0; }
};

/// The barrier of the cluster of one block, by its number among those that Waiting has.
inline constexpr std::uint32_t kClusterBarrier = 16;

/// wgmma of a warp: up to which clock of the agent the one that came last reads, and so of each group that was not waited for.
struct WarpgroupProducts {
  static constexpr std::size_t kMostGroups = 64;  // the oldest of more is over, as it may be on hardware
  std::uint32_t clock = 0;
  bool is_open = false;  // one is not committed
  std::vector<std::uint32_t> groups;
};

struct Warp {
  alignas(128) std::uint32_t thread[3][kLanes];
  std::uint32_t number = 0;
  std::uint32_t live = 0;
  std::vector<std::uint32_t> ready, parked;  // lanes by block of code
  std::vector<std::uint64_t> ready_blocks;   // a bit for each block with ready lanes
  int ready_count = 0, parked_count = 0;     // blocks with such lanes
  std::vector<Waiting> waiting;
  std::uint32_t result = 0, result_threads = 0;  // of the last barrier that reduces
  std::uint32_t may_pass = 0;                    // lanes that need not wait at the cluster's barrier any more
  std::byte* registers = nullptr;
  AsyncCopies copies;
  WarpgroupProducts wgmma;
  std::vector<std::uint64_t> seen;  // by site: a hash of what its last strong read has seen
  std::uint64_t state[2] =
      {};             // a hash of its registers where it last let others go on: before such a read, behind one
  bool idle = false;  // it saw nothing new, and changed nothing
  int from = 0;       // a block of code: that and those behind it go on first

  void add(int block, std::uint32_t lanes);
  void park(int block, std::uint32_t lanes);
  /// The lowest block with ready lanes, and with them those that wait there for their members. Of those from `from` on, if there is one.
  int take(std::uint32_t& lanes);
};

struct Range {
  std::uint64_t low, high;
  bool writable;
  const std::string* name;
};

using Bytes = std::unique_ptr<std::byte, decltype(&std::free)>;

/// What a block of the grid has of its own.
struct BlockState {
  std::vector<std::byte> shared;
  std::vector<std::uint8_t> shared_written;  // by byte
  Bytes local{nullptr, &std::free}, registers{nullptr, &std::free};
  std::vector<Warp> warps;
  std::uint32_t block_index[3] = {};
  Mbarriers mbarriers;
  BulkCopies bulk;
  Released cluster;  // what the arrivals at its barrier have passed on
};

/// Of the block that runs, and of the launch.
struct Runtime : BlockState {
  const Translation* entry = nullptr;
  const Launch* wanted = nullptr;
  Context context{};
  std::int64_t parameter_bytes = 0;
  std::vector<Range> ranges;
  std::size_t last_range = 0;
  Warp* warp = nullptr;
  std::uint64_t changes = 0, news = 0;  // writes to memory that others see; strong reads that saw something new
  std::set<int> lines_found;
  Races races;
  LaunchResult result;
  std::int64_t prices = 0;      // of the budget's count what are no instructions
  std::uint64_t unprinted = 0;  // bytes beyond kMaxPrinted

  /// A finding; `lane` of the warp that runs, or -1. Ends the launch unless `goes_on`.
  void find(int line, const std::string& what, int lane, bool goes_on = false, FindingKind kind = FindingKind::other);
  /// A strong read of the warp that runs: is what it saw, by its hash, new to it?
  void observe(std::uint32_t site, std::uint64_t hash);
  /// The range that holds [low, high), or null.
  const Range* range(std::uint64_t low, std::uint64_t high);
};

/// Throws UsageError that names the argument and what is legal.
void check_launch(const Translation& entry, const Launch& wanted);

/// Barriers that everybody has come to are over: whether there was one. A barrier for a number of threads counts whole warps, as the
/// hardware does.
bool release_barriers(Runtime& runtime);
/// No lane can go on: a finding at the first place where lanes wait.
void find_deadlock(Runtime& runtime, const Flow& flow);

/// After a finding that ends the launch the budget is far below 0.
inline constexpr std::int64_t kNoBudget = INT64_MIN / 2;

}  // namespace flashproof::ptx
