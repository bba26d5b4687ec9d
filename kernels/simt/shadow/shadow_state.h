// The shadow's memory: for every granule who wrote it last and who has read it since. Internal to the executor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "kernels/simt/block.h"
#include "kernels/simt/shadow/shadow.h"
#include "kernels/simt/shadow/shadow_clock.h"
#include "kernels/simt/shadow/shadow_places.h"
#include "kernels/simt/shadow/shadow_traffic.h"

namespace flashproof::simt {

enum class AccessKind : std::uint8_t { read, write, atomic, copy };  // copy: the write of a cp.async

/// One access: by whom, when, and where in the program.
struct Mark {
  ThreadId who = 0;
  Stamp stamp = kNever;
  CodeOffset place = 0;
};

/// Reads since the last write. Of readers in one warp all are kept (`first` and the lanes beside it); of readers in
/// several warps two, because the writer is not in the warp of both.
struct Cell {
  Mark write;
  Mark first, other;
  std::uint32_t lanes = 0;  // index of LaneReads + 1; 0: none
  std::uint32_t epoch = 0;  // of the range; another one means that nothing here counts any more
};

struct LaneReads {
  std::array<Mark, kLanes> lane;
};

/// Atomics on one granule since the last write that was none, and what they hand on.
struct AtomicCell {
  std::vector<Mark> marks;
  Knowledge released;
};

struct Range {
  std::string name;
  std::uintptr_t base = 0;
  std::size_t bytes = 0;
  bool shared = false, input = false;
  unsigned shift = 2;  // a granule is 2^shift bytes: 4, or less once something smaller or unaligned was accessed
  std::uint32_t epoch = 1;
  std::vector<Cell> cells;
  std::unordered_map<std::size_t, AtomicCell> atomics;  // by granule
  int counter = -1;                                     // in TrafficCount; -1: none
};

class Shadow {
 public:
  explicit Shadow(ShadowOptions options) : options_(options) {}

  // What happens to memory, in order. True if it is memory that is watched.
  bool access(std::uintptr_t address, std::size_t bytes, AccessKind kind, const void* pc) {
    return block.current != nullptr && access_of(*block.current, address, bytes, kind, pc);
  }
  bool access_of(const Thread& thread, std::uintptr_t address, std::size_t bytes, AccessKind kind, const void* pc);
  void commit_copies();
  void wait_for_copies(std::size_t pending, bool also_uncommitted);

  // What the executor does.
  void start_launch(std::uint64_t blocks);
  void end_launch();
  void start_block(std::uint32_t ordinal);
  void end_block();
  void barrier() { clock_.barrier(); }
  void join_lanes(unsigned first, std::uint32_t mask) { clock_.join_lanes(first, mask); }
  void fence(bool whole_device) { clock_.fence(block.current->number, whole_device); }

  void watch(std::string name, Global use, const void* data, std::size_t bytes, std::size_t element_bytes);
  void add_shared(std::string name, const void* data, std::size_t bytes);

  const std::vector<Race>& races() const { return races_; }
  std::uint64_t race_count() const { return race_count_; }
  std::uint64_t accesses() const { return accesses_; }
  std::vector<Traffic> traffic() const { return traffic_.result(); }

 private:
  struct Copy {
    std::uintptr_t address;
    std::size_t bytes;
  };
  struct Copies {
    std::vector<std::vector<Copy>> groups;  // committed, oldest first
    std::vector<Copy> open;
  };

  Range* find(std::uintptr_t address);
  void insert(Range range);
  void refine(Range& range, unsigned shift);
  void check(Range& range, std::size_t granule, AccessKind kind, const Mark& mark);
  void check_atomics(Range& range, std::size_t granule, AccessKind kind, const Mark& mark);
  void note_reader(Cell& cell, const Mark& mark);
  void release_lanes(Cell& cell);
  void check_against(const Range& range, std::size_t granule, const Mark& earlier, const char* earlier_did,
                     const Mark& now, const char* now_does);
  void report(const Range& range, std::size_t offset, const Mark& earlier, const char* earlier_did, const Mark& now,
              const char* now_does);
  void complete(const std::vector<Copy>& copies);
  std::string thread_text(const Mark& mark) const;

  ShadowOptions options_;
  Clock clock_;
  std::vector<std::unique_ptr<Range>> ranges_;  // by address
  Range* last_ = nullptr;
  std::vector<LaneReads> lanes_;
  std::vector<std::uint32_t> free_lanes_;
  std::vector<uint3> blocks_;          // by ordinal
  std::uint32_t epoch_ = 1;            // counts launches and blocks
  std::map<unsigned, Copies> copies_;  // by thread of the running block

  Places places_;
  TrafficCount traffic_;
  std::vector<Race> races_;
  std::map<std::tuple<std::string, CodeOffset, CodeOffset>, std::size_t> seen_;  // index in races_
  std::uint64_t race_count_ = 0, accesses_ = 0;
};

/// Of the innermost ScopedShadow; null: none.
Shadow* scoped_shadow();

}  // namespace flashproof::simt
