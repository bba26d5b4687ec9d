#include "kernels/ptx/run/order.h"

#include <algorithm>
#include <bit>

namespace flashproof::ptx {
namespace {

constexpr std::size_t kMostPublished = 1 << 20;  // addresses

void add(Known& to, const Known& what) { to = join(to, what); }

}  // namespace

void Released::join(const Released& other) {
  add(known, other.known);
  add(proxied, other.proxied);
}

void Order::Knowledge::join(const Knowledge& other) {
  add(known, other.known);
  add(fenced_cta, other.fenced_cta);
  add(fenced_gpu, other.fenced_gpu);
  add(pending_cta, other.pending_cta);
  add(pending_gpu, other.pending_gpu);
  add(proxied, other.proxied);
}

void Order::prepare(std::size_t warps, bool fences, bool async) {
  warps_ = warps + (async ? 1 : 0);
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

std::uint32_t Order::begin_async(std::uint32_t warp, int lane) {
  const std::uint32_t now = ++clock(agent());
  Knowledge& known = here_.warps[agent()].all;
  known.known = past(warp, lane);
  known.proxied = ptx::join(here_.warps[warp].all.proxied, of_lane(warp, lane).proxied);
  return now;
}

std::uint32_t Order::begin_async(std::uint32_t warp) {
  const Released before = release(warp);
  Knowledge& known = here_.warps[agent()].all;
  known.known = before.known;
  known.proxied = before.proxied;
  return ++clock(agent());
}

Released Order::finished(std::uint32_t clock) const {
  std::vector<Seen> seen(warps_);
  seen[agent()].all = clock;
  return {of_block(here_.number, std::move(seen)), nullptr};
}

bool Order::is_proxied(std::uint32_t block, std::uint32_t warp, std::uint32_t clock, std::uint32_t lanes) const {
  const std::vector<Seen>* seen = find(here_.warps[agent()].all.proxied, block);
  return gave_up_ || (seen != nullptr && (*seen)[warp].holds(clock, lanes));
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

void Order::fence_proxy(std::uint32_t warp, std::uint32_t lanes) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    of_lane(warp, lane).proxied = past(warp, lane);
  }
  ++clock(warp);
}

Released Order::release(std::uint32_t warp, int lane, bool releases) {
  const Knowledge &all = here_.warps[warp].all, &mine = of_lane(warp, lane);
  Released released{releases ? past(warp, lane) : ptx::join(all.fenced_cta, mine.fenced_cta),
                    ptx::join(all.proxied, mine.proxied)};
  if (releases) ++clock(warp);
  return released;
}

void Order::acquire(std::uint32_t warp, int lane, const Released& released, bool acquires) {
  Knowledge& mine = of_lane(warp, lane);
  add(acquires ? mine.known : mine.pending_cta, released.known);
  add(mine.proxied, released.proxied);
}

Released Order::release(std::uint32_t warp) {
  gather(here_.warps[warp]);
  std::vector<Seen> seen(warps_);
  for (std::size_t i = 0; i < warps_; ++i) seen[i].all = here_.clocks[warp * warps_ + i];
  ++clock(warp);
  const Knowledge& all = here_.warps[warp].all;
  return {ptx::join(all.known, of_block(here_.number, std::move(seen))), all.proxied};
}

void Order::acquire(std::uint32_t warp, const Released& released) {
  add(here_.warps[warp].all.known, released.known);
  add(here_.warps[warp].all.proxied, released.proxied);
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
