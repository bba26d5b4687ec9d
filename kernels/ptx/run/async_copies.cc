#include "kernels/ptx/run/async_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "kernels/ptx/run/access.h"
#include "kernels/ptx/run/runtime.h"

namespace flashproof::ptx {
namespace {

/// A write at this moment, too: barriers since the start have not ordered it.
void record(Runtime& runtime, int lane, const AsyncCopy& copy) {
  runtime.races.begin_instruction();
  runtime.races.shared({runtime.warp->number, lane, copy.line}, copy.to, copy.bytes, Touch::write);
}

void write_bytes(Runtime& runtime, int lane, const AsyncCopy& copy) {
  std::byte* to = runtime.shared.data() + copy.to;
  if (copy.valid != 0) std::memcpy(to, copy.from, copy.valid);
  std::memset(to + copy.valid, 0, copy.bytes - copy.valid);
  std::memset(runtime.shared_written.data() + copy.to, 1, copy.bytes);
  if (!copy.is_recorded) record(runtime, lane, copy);
}

void count_in(Runtime& runtime, const AsyncArrival& arrival) {
  ++runtime.changes;
  Mbarrier* barrier = runtime.mbarriers.find(arrival.mbarrier);
  if (barrier == nullptr) {
    return runtime.find(arrival.line, "copies arrive whose mbarrier was invalidated before", -1);
  }
  if (barrier->pending == 0) {
    return runtime.find(arrival.line, "copies arrive at an mbarrier that no arrival is missing of", -1);
  }
  --barrier->pending;
  barrier->arriving.join(arrival.released);
  barrier->go_on_if_complete();
}

}  // namespace

void AsyncCopies::clear() {
  for (Lane& lane : lanes_) {
    lane.under_way.clear();
    lane.arrivals.clear();
    lane.committed = lane.started = 0;
  }
  following_ = 0;
}

void AsyncCopies::arrive(Runtime& runtime, int lane, std::size_t count) {
  Lane& mine = lanes_[lane];
  const auto end = mine.under_way.begin() + static_cast<std::ptrdiff_t>(count);
  std::for_each(mine.under_way.begin(), end, [&](const AsyncCopy& copy) { write_bytes(runtime, lane, copy); });
  mine.under_way.erase(mine.under_way.begin(), end);
  const std::uint64_t arrived = mine.started - mine.under_way.size();
  while (!mine.arrivals.empty() && mine.arrivals.front().copies <= arrived) {
    count_in(runtime, mine.arrivals.front());
    mine.arrivals.erase(mine.arrivals.begin());
    --following_;
  }
}

void AsyncCopies::start(Runtime& runtime, int lane, AsyncCopy copy) {
  Lane& mine = lanes_[lane];
  if (mine.under_way.size() == kMostUnderWay) {
    arrive(runtime, lane, 1);
  }
  copy.group = mine.committed;
  mine.under_way.push_back(copy);
  ++mine.started;
  std::memset(runtime.shared.data() + copy.to, 0xff, copy.bytes);
  std::memset(runtime.shared_written.data() + copy.to, 0, copy.bytes);
}

void AsyncCopies::wait(Runtime& runtime, int lane, std::uint64_t pending) {
  Lane& mine = lanes_[lane];
  if (mine.committed <= pending) return;
  const auto still = std::ranges::find_if(
      mine.under_way, [&](const AsyncCopy& copy) { return copy.group >= mine.committed - pending; });
  arrive(runtime, lane, static_cast<std::size_t>(still - mine.under_way.begin()));
}

void AsyncCopies::follow(Runtime& runtime, int lane, AsyncArrival arrival) {
  Lane& mine = lanes_[lane];
  for (AsyncCopy& copy : mine.under_way) {
    if (!std::exchange(copy.is_recorded, true)) record(runtime, lane, copy);
  }
  arrival.copies = mine.started;
  arrival.released = runtime.races.order.release(runtime.warp->number, lane, true);
  mine.arrivals.push_back(std::move(arrival));
  ++following_;
  if (mine.under_way.empty()) arrive(runtime, lane, 0);
}

void AsyncCopies::hurry(Runtime& runtime, std::uint64_t mbarrier) {
  if (following_ == 0) return;
  for (int lane = 0; lane < kLanes; ++lane) {
    Lane& mine = lanes_[lane];
    std::uint64_t copies = 0;
    for (AsyncArrival& arrival : mine.arrivals) {
      if (arrival.mbarrier != mbarrier) continue;
      const bool is_second = std::ranges::find(arrival.looked, runtime.warp->number) != arrival.looked.end();
      if (is_second) copies = arrival.copies;
      if (!is_second) arrival.looked.push_back(runtime.warp->number);
    }
    const std::uint64_t arrived = mine.started - mine.under_way.size();
    if (copies > arrived) arrive(runtime, lane, copies - arrived);
  }
}

bool AsyncCopies::write(std::uint64_t low, std::uint64_t high) const {
  return std::ranges::any_of(lanes_, [&](const Lane& lane) {
    return std::ranges::any_of(lane.under_way,
                               [&](const AsyncCopy& copy) { return copy.to < high && low < copy.to + copy.bytes; });
  });
}

extern "C" void ptx_copy_async(Context* context, std::uint32_t lanes, const std::uint64_t* to,
                               const std::uint64_t* from, const std::uint32_t* valid, std::uint32_t site) {
  if (context->budget < 0) return;  // after a finding nothing is touched any more
  Runtime& runtime = *context->runtime;
  const Access write = access_of(context, site, true);
  Site source = write.site;
  source.space = Space::global;
  write.watch(lanes, to, Touch::write);
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    if (valid[l] > write.bytes) {
      runtime.find(source.line, fmt::format("copies {} bytes, legal: 0 to {}", valid[l], write.bytes), l);
      return;
    }
    const std::byte* data = nullptr;
    if (valid[l] != 0) {
      data = Access{runtime, source, false, valid[l], write.bytes}.place(from[l], l);
      if (data == nullptr) return;
      Access{runtime, source, false, valid[l], 1}.watch(1U << l, from, Touch::read);
    }
    const std::byte* place = write.place(to[l], l);
    if (place == nullptr) return;
    const auto offset = static_cast<std::uint64_t>(place - runtime.shared.data());
    runtime.warp->copies.start(runtime, l,
                               {offset, data, static_cast<std::uint32_t>(write.bytes), valid[l], 0, source.line});
  }
}

extern "C" void ptx_copies_commit(Context* context, std::uint32_t lanes) {
  for (; lanes != 0; lanes &= lanes - 1) context->runtime->warp->copies.commit(std::countr_zero(lanes));
}

extern "C" void ptx_copies_wait(Context* context, std::uint32_t lanes, std::uint32_t pending) {
  if (context->budget < 0) return;
  for (; lanes != 0; lanes &= lanes - 1)
    context->runtime->warp->copies.wait(*context->runtime, std::countr_zero(lanes), pending);
}

}  // namespace flashproof::ptx
