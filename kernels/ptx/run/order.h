// What orders the accesses of different threads (PTX ISA, "Memory Consistency Model"), by vector clocks. Barriers and collectives order
// all that their warps did before. A fence does not by itself: what lies before it is published by the strong writes behind it, and
// what a strong read has observed counts from the reader's next fence on, where the scopes of both include the other thread.
// `.release` and `.acquire` are both in one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "kernels/ptx/run/known.h"
#include "kernels/ptx/translate/context.h"

namespace flashproof::ptx {

/// A strong access, or an atomic.
struct Strong {
  MemoryScope scope;
  bool reads, writes;  // an atomic does both; `red` observes nothing that its thread goes on with
  bool acquires, releases;
  bool is_atomic;
};

/// What an arrival passes on to those that wait for it: what is ordered before it and, of that, what async operations may read.
struct Released {
  Known known, proxied;
  void join(const Released& other);
};

class Order {
 private:
  /// Of each scope: what a fence of this scope, or of a wider one, has been behind; what such a fence will make known.
  struct Knowledge {
    Known known, fenced_cta, fenced_gpu, pending_cta, pending_gpu;
    Known proxied;  // of `known` what a fence.proxy.async has been behind
    void join(const Knowledge& other);
  };
  struct WarpState {
    std::uint32_t collective = 1;
    Knowledge all;
    std::vector<Knowledge> lanes;  // beyond `all`, since the last collective; empty: none
  };
  /// At an address: what the last write, and the atomics since, publish to the grid, and to the threads of each block.
  struct Published {
    std::uint32_t block = 0, warp = 0;
    int lane = 0;
    Known to_grid;
    std::map<std::uint32_t, Known> to_cta;
  };

 public:
  /// What one block of the grid has of its own.
  struct Block {
    std::uint32_t number = 0;           // from 1 on
    std::vector<std::uint32_t> clocks;  // [warp][warp]: what the first knows of the second by barriers
    std::vector<WarpState> warps;
    std::unordered_map<std::uint64_t, Published> shared;  // by address
  };

  /// `fences`: whether the code has one; without it strong accesses order nothing. `async`: whether it has asynchronous operations, which
  /// are done by an agent of the block's own that counts as one warp more.
  void prepare(std::size_t warps, bool fences, bool async);
  void begin_block();
  /// Another block goes on; what the one before has is kept.
  void exchange(Block& other) { std::swap(here_, other); }
  /// The blocks before this one are at their end.
  void set_first(std::uint32_t block) { first_ = block; }

  std::uint32_t block() const { return here_.number; }
  std::uint32_t now(std::uint32_t warp) const { return here_.clocks[warp * warps_ + warp]; }
  /// What this warp did before this clock is ordered before what any of its lanes does now.
  std::uint32_t last_collective(std::uint32_t warp) const { return here_.warps[warp].collective; }
  /// Whether a barrier orders another warp's access of this block before what this warp does now.
  bool met(std::uint32_t warp, std::uint32_t other, std::uint32_t clock) const {
    return here_.clocks[warp * warps_ + other] >= clock;
  }
  /// Whether fences and strong accesses order an access of these lanes before what the lane does now.
  bool knows(std::uint32_t warp, int lane, std::uint32_t block, std::uint32_t other, std::uint32_t clock,
             std::uint32_t lanes) const;
  /// Whether the lane is ordered behind anything of another block.
  bool knows_another_block(std::uint32_t warp, int lane) const;

  /// The agent of asynchronous operations, where there is one.
  std::uint32_t agent() const { return static_cast<std::uint32_t>(warps_) - 1; }
  /// It does something from now on that comes behind what this lane has done; at which clock of its own.
  std::uint32_t begin_async(std::uint32_t warp, int lane);
  /// The same of all its lanes.
  std::uint32_t begin_async(std::uint32_t warp);
  /// What who has waited for it knows: all that it has done up to this clock.
  Released finished(std::uint32_t clock) const;
  /// Whether the agent may read what was written so: a fence.proxy.async lies between.
  bool is_proxied(std::uint32_t block, std::uint32_t warp, std::uint32_t clock, std::uint32_t lanes) const;

  void collective(std::uint32_t warp);
  /// These warps have come to a barrier.
  void meet(std::span<const std::uint32_t> warps);
  void fence(std::uint32_t warp, std::uint32_t lanes, MemoryScope scope);
  void fence_proxy(std::uint32_t warp, std::uint32_t lanes);
  /// Of an arrival: what it passes on, by itself if it releases, else what a fence before it published.
  Released release(std::uint32_t warp, int lane, bool releases);
  /// Of a wait that is over: what the arrivals passed on; without `acquires` from the lane's next fence on.
  void acquire(std::uint32_t warp, int lane, const Released& released, bool acquires);
  /// The same of all lanes of a warp.
  Released release(std::uint32_t warp);
  void acquire(std::uint32_t warp, const Released& released);
  /// A strong access is made. `follows`: the location's last write was strong, or an atomic.
  void access(std::uint32_t warp, int lane, std::uint64_t address, bool is_shared, const Strong& how, bool follows);

 private:
  std::uint32_t& clock(std::uint32_t warp) { return here_.clocks[warp * warps_ + warp]; }
  Knowledge& of_lane(std::uint32_t warp, int lane);
  void gather(WarpState& warp);
  /// All that is ordered before what the lane does next.
  Known past(std::uint32_t warp, int lane);
  void observe(std::uint32_t warp, int lane, const Published& there, const Strong& how);
  void publish(std::uint32_t warp, int lane, Published& there, const Strong& how);

  std::size_t warps_ = 0;
  bool fences_ = false, gave_up_ = false;
  std::uint32_t blocks_ = 0, first_ = 0;
  Block here_;
  std::unordered_map<std::uint64_t, Published> global_;  // by address
};

}  // namespace flashproof::ptx
