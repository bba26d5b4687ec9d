// cp.async: what each lane of a warp has under way. The bytes arrive when the lane waits for their group. From the copy's start until
// then the destination counts as not written and holds 0xff, so that who reads too early is told, whatever the hardware's haste.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/ptx/translate/context.h"

namespace flashproof::ptx {

struct AsyncCopy {
  std::uint64_t to;       // in shared memory
  const std::byte* from;  // null if `valid` is 0
  std::uint32_t bytes, valid;
  std::uint64_t group;  // how many its lane had committed when it was started
  int line;
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
  /// Whether a copy under way writes into [low, high) of shared memory.
  bool write(std::uint64_t low, std::uint64_t high) const;

 private:
  struct Lane {
    std::vector<AsyncCopy> under_way;
    std::uint64_t committed = 0;
  };
  Lane lanes_[kLanes];
};

}  // namespace flashproof::ptx
