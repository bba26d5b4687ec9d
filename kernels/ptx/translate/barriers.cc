#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "kernels/ptx/run/runtime_state.h"

namespace flashproof::ptx {
namespace {

void release(Warp& warp, std::uint32_t number, std::uint32_t votes, std::uint32_t threads) {
  const auto here = [&](const Waiting& waiting) { return waiting.barrier == number; };
  for (const Waiting& waiting : warp.waiting) {
    if (!here(waiting) || !waiting.stays()) continue;
    warp.add(waiting.next, waiting.lanes);
    warp.result = votes;
    warp.result_threads = threads;
  }
  std::erase_if(warp.waiting, here);
}

/// More threads wait than the barrier is for: the first to come go on, and who that is nothing says.
void find_crowd(Runtime& runtime, std::uint32_t number, std::uint32_t wanted, std::uint32_t here) {
  for (Warp& warp : runtime.warps) {
    const auto waiting = std::ranges::find(warp.waiting, number, &Waiting::barrier);
    if (waiting == warp.waiting.end()) continue;
    runtime.warp = &warp;
    return runtime.find(waiting->line,
                        fmt::format("barrier {} is for {} threads, and {} wait at it: which of them go on together "
                                    "depends on the order in which they come",
                                    number, wanted, here),
                        -1, true);
  }
}

bool is_arrival(const Waiting& waiting) { return waiting.barrier == kClusterBarrier && !waiting.stays(); }

/// Once all that live have arrived at the cluster's barrier each may pass where it says that it waits.
void count_arrivals(Runtime& runtime) {
  for (const Warp& warp : runtime.warps) {
    std::uint32_t lanes = 0;
    for (const Waiting& waiting : warp.waiting) lanes |= is_arrival(waiting) ? waiting.lanes : 0;
    if ((warp.live & ~lanes) != 0) return;
  }
  for (Warp& warp : runtime.warps) {
    for (const Waiting& waiting : warp.waiting) {
      if (!is_arrival(waiting)) continue;
      runtime.cluster.join(waiting.released);
      warp.may_pass |= waiting.lanes;
    }
    std::erase_if(warp.waiting, is_arrival);
  }
}

/// The barrier of a cluster of one block: whether lanes have passed it.
bool release_cluster(Runtime& runtime) {
  count_arrivals(runtime);
  bool released = false;
  for (Warp& warp : runtime.warps) {
    std::vector<Waiting> others;
    for (Waiting& waiting : warp.waiting) {
      if (waiting.barrier != kClusterBarrier || !waiting.stays() || (waiting.lanes & ~warp.may_pass) != 0) {
        others.push_back(std::move(waiting));
        continue;
      }
      warp.may_pass &= ~waiting.lanes;
      warp.add(waiting.next, waiting.lanes);
      runtime.races.order.acquire(warp.number, runtime.cluster);
      released = true;
    }
    warp.waiting = std::move(others);
  }
  return released;
}

}  // namespace

bool release_barriers(Runtime& runtime) {
  std::vector<Warp>& warps = runtime.warps;
  bool released = false, has_cluster = false;
  std::vector<std::uint32_t> numbers;
  std::uint32_t live = 0;
  for (const Warp& warp : warps) {
    live += static_cast<std::uint32_t>(std::popcount(warp.live));
    for (const Waiting& waiting : warp.waiting) {
      has_cluster |= waiting.barrier == kClusterBarrier;
      if (waiting.barrier != kClusterBarrier && std::ranges::find(numbers, waiting.barrier) == numbers.end())
        numbers.push_back(waiting.barrier);
    }
  }
  for (const std::uint32_t number : numbers) {
    std::uint32_t here = 0, whole = 0, wanted = 0, votes = 0;
    for (const Warp& warp : warps) {
      std::uint32_t lanes = 0;  // those that have gone on, and may have left, among them
      for (const Waiting& waiting : warp.waiting) {
        if (waiting.barrier != number) continue;
        lanes |= waiting.lanes;
        wanted = std::max(wanted, waiting.threads);
        votes += static_cast<std::uint32_t>(std::popcount(waiting.votes));
      }
      here += static_cast<std::uint32_t>(std::popcount(lanes));
      whole += lanes != 0 && (warp.live & ~lanes) == 0 ? kLanes : 0;
    }
    if (wanted == 0 ? here < live : whole < wanted) continue;
    if (wanted != 0 && whole >= wanted + kLanes) find_crowd(runtime, number, wanted, whole);
    released = true;
    std::vector<std::uint32_t> met;
    Released arrived;
    for (Warp& warp : warps) {
      // What has left is waited for no longer where all are waited for: what it did comes before.
      bool stays = wanted == 0 && warp.live == 0;
      for (const Waiting& waiting : warp.waiting) {
        if (waiting.barrier != number) continue;
        stays |= waiting.stays();
        arrived.join(waiting.released);
      }
      if (stays) met.push_back(warp.number);
      release(warp, number, votes, here);
    }
    runtime.races.order.meet(met);
    for (const std::uint32_t warp : met) runtime.races.order.acquire(warp, arrived);
  }
  return (has_cluster && release_cluster(runtime)) || released;
}

void find_deadlock(Runtime& runtime, const Flow& flow) {
  for (Warp& warp : runtime.warps) {
    runtime.warp = &warp;
    for (const Waiting& waiting : warp.waiting) {
      if (!waiting.stays()) continue;
      const std::string which = waiting.barrier == kClusterBarrier ? "the barrier of the cluster"
                                                                   : fmt::format("barrier {}", waiting.barrier);
      return runtime.find(waiting.line,
                          fmt::format("deadlock: lanes {:#010x} wait at {} for threads that do not come{}",
                                      waiting.lanes, which, runtime.mbarriers.words()),
                          -1);
    }
    for (std::size_t b = 0; b < warp.parked.size(); ++b) {
      if (warp.parked[b] == 0) continue;
      const int meet = flow.blocks[b].meet;
      return runtime.find(
          flow.entry.instructions[static_cast<std::size_t>(meet)].line,
          fmt::format("deadlock: lanes {:#010x} wait for other members of their mask, which do not come",
                      warp.parked[b]),
          -1);
    }
  }
}

}  // namespace flashproof::ptx
