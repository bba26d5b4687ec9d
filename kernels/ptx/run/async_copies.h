// cp.async: what each lane of a warp has under way. The bytes arrive when the lane waits for their group, or when a warp looks a second
// time in vain at an mbarrier that follows them (cp.async.mbarrier.arrive). From the copy's start until then the destination counts as
// not written and holds 0xff, so that who reads too early is told, whatever the hardware's haste.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/ptx/run/order.h"
#include "kernels/ptx/translate/context.h"

namespace flashproof::ptx {

struct AsyncCopy {
  std::uint64_t to;       // in shared memory
  const std::byte* from;  // null if `valid` is 0
  std::uint32_t bytes, valid;
  std::uint64_t group;  // how many its lane had committed when it was started
  int line;
  bool is_recorded = false;  // as a write: behind an arrival that follows it, since its lane orders it there
};

/// At an mbarrier, when the copies that its lane has started before it have arrived.
struct AsyncArrival {
  std::uint64_t mbarrier;  // in shared memory
  int line;
  std::uint64_t copies = 0;                // how many its lane had started
  Released released = {};                  // what it passes on: what its lane has done before, and these copies
  std::vector<std::uint32_t> looked = {};  // warps that have looked at the mbarrier in vain
};

class AsyncCopies {
 public:
  /// A lane that never waits has so many under way; the oldest of more has arrived, as it may on hardware.
  static constexpr std::size_t kMostUnderWay = 1024;

  /// Of an earlier block of the grid.
  void clear();
  void start(Runtime& runtime, int lane, AsyncCopy copy);
  void commit(int lane) { ++lanes_[lane].committed; }
  /// Until at most so many of the lane's groups are under way.
  void wait(Runtime& runtime, int lane, std::uint64_t pending);
  /// By a lane of the warp that runs; comes at once where nothing of the lane is under way.
  void follow(Runtime& runtime, int lane, AsyncArrival arrival);
  /// The warp that runs looks at this mbarrier, and its phase is not over.
  void hurry(Runtime& runtime, std::uint64_t mbarrier);
  /// Whether a copy under way writes into [low, high) of shared memory.
  bool write(std::uint64_t low, std::uint64_t high) const;

 private:
  struct Lane {
    std::vector<AsyncCopy> under_way;    // the last ones that it has started
    std::vector<AsyncArrival> arrivals;  // in the order of the code
    std::uint64_t committed = 0, started = 0;
  };

  /// So many of the oldest ones, and what follows them.
  void arrive(Runtime& runtime, int lane, std::size_t count);

  Lane lanes_[kLanes];
  std::size_t following_ = 0;  // arrivals of all lanes
};

}  // namespace flashproof::ptx
