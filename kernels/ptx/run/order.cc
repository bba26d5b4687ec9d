#include "kernels/ptx/run/order.h"

#include <algorithm>
#include <bit>

namespace flashproof::ptx {
namespace {

constexpr std::size_t kMostPublished = 1 << 20;  // addresses

void add(Known& to, const Known& what) { to = join(to, what); }

}  // namespace

void Order::Knowledge::join(const Knowledge& other) {
  add(known, other.known);
  add(fenced_cta, other.fenced_cta);
  add(fenced_gpu, other.fenced_gpu);
  add(pending_cta, other.pending_cta);
  add(pending_gpu, other.pending_gpu);
}

void Order::prepare(std::size_t warps, bool fences) {
  warps_ = warps;
  fences_ = fences;
}

void Order::begin_block() {
  here_.number = ++blocks_;
  first_ = std::min(first_, blocks_);
  here_.clocks.assign(warps_ * warps_, 0);
  here_.warps.assign(warps_, {});
  here_.shared.clear();
  for (std::uint32_t warp = 0; warp < warps_; ++warp) clock(warp) = 1;
}

bool Order::knows(std::uint32_t warp, int lane, std::uint32_t block, std::uint32_t other, std::uint32_t clock,
                  std::uint32_t lanes) const {
  if (gave_up_) return true;
  const auto holds = [&](const Known& known) {
    const std::vector<Seen>* seen = find(known, block);
    return seen != nullptr && (*seen)[other].holds(clock, lanes);
  };
  const WarpState& state = here_.warps[warp];
  return holds(state.all.known) || (!state.lanes.empty() && holds(state.lanes[static_cast<std::size_t>(lane)].known));
}

bool Order::knows_another_block(std::uint32_t warp, int lane) const {
  const auto has_another = [&](const Known& known) {
    return known && (known->bit != 0 || known->block != here_.number);
  };
  const WarpState& state = here_.warps[warp];
  return gave_up_ || has_another(state.all.known) ||
         (!state.lanes.empty() && has_another(state.lanes[static_cast<std::size_t>(lane)].known));
}

Order::Knowledge& Order::of_lane(std::uint32_t warp, int lane) {
  std::vector<Knowledge>& lanes = here_.warps[warp].lanes;
  if (lanes.empty()) lanes.resize(kLanes);
  return lanes[static_cast<std::size_t>(lane)];
}

void Order::gather(WarpState& warp) {
  for (const Knowledge& lane : warp.lanes) warp.all.join(lane);
  warp.lanes.clear();
}

void Order::collective(std::uint32_t warp) {
  here_.warps[warp].collective = ++clock(warp);
  gather(here_.warps[warp]);
}

void Order::meet(std::span<const std::uint32_t> warps) {
  std::vector<std::uint32_t> joined(warps_);
  Knowledge all;
  for (const std::uint32_t warp : warps) {
    for (std::size_t i = 0; i < warps_; ++i) joined[i] = std::max(joined[i], here_.clocks[warp * warps_ + i]);
    if (!fences_) continue;
    gather(here_.warps[warp]);
    all.join(here_.warps[warp].all);
  }
  // A barrier behind the reader's atomic is taken for a fence: threadFenceReduction of NVIDIA's samples has no other.
  add(all.known, join(all.pending_cta, all.pending_gpu));
  all.pending_cta = all.pending_gpu = nullptr;
  for (const std::uint32_t warp : warps) {
    std::ranges::copy(joined, here_.clocks.data() + warp * warps_);
    here_.warps[warp].collective = ++clock(warp);
    if (fences_) here_.warps[warp].all = all;
  }
}

Known Order::past(std::uint32_t warp, int lane) {
  std::vector<Seen> seen(warps_);
  for (std::size_t i = 0; i < warps_; ++i) seen[i].all = here_.clocks[warp * warps_ + i];
  seen[warp] = {here_.warps[warp].collective - 1, clock(warp), 1U << lane};
  return join(join(here_.warps[warp].all.known, of_lane(warp, lane).known), of_block(here_.number, std::move(seen)));
}

void Order::fence(std::uint32_t warp, std::uint32_t lanes, MemoryScope scope) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    Knowledge& mine = of_lane(warp, lane);
    const Knowledge& all = here_.warps[warp].all;
    add(mine.known, join(all.pending_cta, mine.pending_cta));
    if (scope == MemoryScope::gpu) add(mine.known, join(all.pending_gpu, mine.pending_gpu));
    mine.fenced_cta = past(warp, lane);
    if (scope == MemoryScope::gpu) mine.fenced_gpu = mine.fenced_cta;
  }
  ++clock(warp);
}

void Order::observe(std::uint32_t warp, int lane, const Published& there, const Strong& how) {
  Knowledge& mine = of_lane(warp, lane);
  const auto here = there.to_cta.find(here_.number);
  if (here != there.to_cta.end()) add(how.acquires ? mine.known : mine.pending_cta, here->second);
  if (how.scope == MemoryScope::gpu) add(how.acquires ? mine.known : mine.pending_gpu, there.to_grid);
}

void Order::publish(std::uint32_t warp, int lane, Published& there, const Strong& how) {
  const bool is_mine = there.block == here_.number && there.warp == warp && there.lane == lane;
  if (!how.is_atomic && !is_mine) there = {};
  there.block = here_.number;
  there.warp = warp;
  there.lane = lane;
  const Knowledge &all = here_.warps[warp].all, &mine = of_lane(warp, lane);
  there.to_cta.erase(there.to_cta.begin(),
                     there.to_cta.lower_bound(first_));  // no thread of those runs any more
  const Known released = how.releases ? past(warp, lane) : nullptr;
  add(there.to_cta[here_.number], join(join(all.fenced_cta, mine.fenced_cta), released));
  if (how.scope == MemoryScope::gpu) add(there.to_grid, join(join(all.fenced_gpu, mine.fenced_gpu), released));
  if (how.releases) ++clock(warp);
}

void Order::access(std::uint32_t warp, int lane, std::uint64_t address, bool is_shared, const Strong& how,
                   bool follows) {
  if (!fences_ || gave_up_) return;
  if (global_.size() == kMostPublished) {  // no room to remember more: no claim about what strong accesses order
    gave_up_ = true;
    return;
  }
  auto& places = is_shared ? here_.shared : global_;
  if (!follows) places.erase(address);
  const auto there = places.find(address);
  if (how.reads && there != places.end()) observe(warp, lane, there->second, how);
  if (how.writes) publish(warp, lane, places[address], how);
}

}  // namespace flashproof::ptx
