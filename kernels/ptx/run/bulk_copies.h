// cp.async.bulk, of bytes and of tensors' boxes: what a block has under way. One into shared memory arrives when a warp looks at its
// mbarrier in vain a second time, as one that waits in a loop does; one out of it reads and writes when its thread waits for its group. From the start on the destination in shared memory counts as not written and holds 0xff, as that of cp.async does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "kernels/ptx/run/tensor_map.h"

namespace flashproof::ptx {

struct Runtime;

struct BulkCopy {
  std::vector<BoxPart> parts;  // of one into shared memory without a place in global memory: zeros
  std::uint64_t bytes = 0;
  std::uint64_t mbarrier = 0;  // in shared memory
  std::uint32_t clock = 0;     // of the asynchronous agent, of what it does last
  int line = 0;
};

class BulkCopies {
 public:
  static constexpr std::size_t kMostUnderWay = 4096;  // of a block into shared memory, or of a thread out of it

  void clear();
  /// Into shared memory.
  void start(Runtime& runtime, BulkCopy copy);
  /// The warp that runs looks at this mbarrier, and its phase is not over.
  void hurry(Runtime& runtime, std::uint64_t mbarrier);
  /// Out of shared memory, by this thread of the block.
  void start(std::uint32_t thread, BulkCopy copy) {
    threads_[thread].under_way.push_back({std::move(copy), threads_[thread].committed, false});
  }
  bool has_room(std::uint32_t thread) const;
  void commit(std::uint32_t thread) { ++threads_[thread].committed; }
  /// Until at most so many of the thread's groups are under way, or read. The agent's clock up to which all is done, or 0.
  std::uint32_t wait(Runtime& runtime, std::uint32_t thread, std::uint64_t pending, bool for_reads);
  /// At the block's end: a finding for what was not waited for.
  void end(Runtime& runtime);
  /// Whether a copy under way writes into [low, high) of shared memory.
  bool write(std::uint64_t low, std::uint64_t high) const;

 private:
  struct Loading {
    BulkCopy copy;
    std::vector<std::uint32_t> looked;  // warps that have
  };
  struct Storing {
    BulkCopy copy;
    std::uint64_t group;
    bool is_done;
  };
  struct Thread {
    std::vector<Storing> under_way;
    std::uint64_t committed = 0;
  };
  std::vector<Loading> loading_;
  std::map<std::uint32_t, Thread> threads_;
};

}  // namespace flashproof::ptx
