#include "kernels/ptx/run/mbarriers.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <set>

#include "kernels/ptx/run/access.h"
#include "kernels/ptx/run/runtime.h"

namespace flashproof::ptx {
namespace {

using Operation = MbarrierOperation;

bool arrives(Operation operation) { return operation >= Operation::arrive; }

/// Bytes that are expected, or that have come. False after a finding.
bool add_bytes(const Access& access, Mbarrier& barrier, std::uint64_t given, bool come, int lane) {
  const auto bytes = static_cast<std::int64_t>(given & UINT32_MAX);
  const std::int64_t now = come ? barrier.bytes - bytes : barrier.bytes + bytes;
  if (bytes <= Mbarrier::kMost && std::abs(now) <= Mbarrier::kMost) {
    barrier.bytes = now;
    return true;
  }
  access.runtime.find(access.site.line,
                      fmt::format("an mbarrier of {} bytes under way and {} more, legal: at most {}", barrier.bytes,
                                  come ? -bytes : bytes, Mbarrier::kMost),
                      lane);
  return false;
}

/// False after a finding.
bool arrive(const Access& access, Mbarrier& barrier, Operation operation, std::uint64_t count, int lane) {
  Runtime& runtime = access.runtime;
  const bool may_complete = operation != Operation::arrive_no_complete && operation != Operation::drop_no_complete;
  const std::uint32_t most = barrier.pending - (may_complete ? 0 : 1);
  if (count == 0 || count > most) {
    runtime.find(access.site.line,
                 fmt::format("{} arrivals at an mbarrier that {} of {} are missing of, legal: 1 to {}", count,
                             barrier.pending, barrier.expected, most),
                 lane);
    return false;
  }
  const auto arrivals = static_cast<std::uint32_t>(count);
  if (operation >= Operation::drop) barrier.expected -= arrivals;
  barrier.pending -= arrivals;
  barrier.arriving.join(runtime.races.order.release(runtime.warp->number, lane, access.site.releases));
  return true;
}

/// False after a finding.
bool change(const Access& access, Mbarrier& barrier, Operation operation, std::uint64_t value, int lane) {
  const bool expects =
      operation == Operation::expect || operation == Operation::arrive_expect || operation == Operation::drop_expect;
  if ((expects || operation == Operation::complete) &&
      !add_bytes(access, barrier, value, operation == Operation::complete, lane))
    return false;
  if (arrives(operation) && !arrive(access, barrier, operation, expects ? 1 : value & UINT32_MAX, lane)) return false;
  barrier.go_on_if_complete();
  return true;
}

/// An arrival behind the copies of the lane. False after a finding.
bool follow(const Access& access, Mbarrier& barrier, std::uint64_t offset, int lane) {
  if (static_cast<Operation>(access.site.operation) == Operation::follow && ++barrier.pending > Mbarrier::kMost) {
    access.runtime.find(access.site.line,
                        fmt::format("one arrival more at an mbarrier that {} are missing of, legal: at most {}",
                                    barrier.pending - 1, Mbarrier::kMost),
                        lane);
    return false;
  }
  access.runtime.warp->copies.follow(access.runtime, lane, {.mbarrier = offset, .line = access.site.line});
  return access.runtime.context.budget >= 0;
}

/// An operation of a lane on what others see. It orders nothing by itself: mbarriers pass on what their phases do.
void watch(const Access& access, int lane, const std::uint64_t* addresses, Touch how) {
  Site site = access.site;
  site.acquires = site.releases = false;
  Access{access.runtime, site, access.write, Mbarriers::kBytes}.watch(1U << lane, addresses, how);
}

}  // namespace

namespace {

/// Whether what initialised it is ordered before what this lane does.
bool is_initialised(const Runtime& runtime, const Mbarrier& barrier, int lane) {
  const Order& order = runtime.races.order;
  const std::uint32_t warp = runtime.warp->number;
  const bool is_mine = barrier.warp == warp;
  return (is_mine ? barrier.lane == lane || barrier.clock < order.last_collective(warp)
                  : order.met(warp, barrier.warp, barrier.clock)) ||
         order.knows(warp, lane, order.block(), barrier.warp, barrier.clock, 1U << barrier.lane);
}

}  // namespace

void Mbarrier::go_on_if_complete() {
  if (pending != 0 || bytes != 0) return;
  pending = expected;
  ++phase;
  completed.join(arriving);
  arriving = {};
}

std::optional<std::uint64_t> Mbarriers::offset(const Access& access, std::uint64_t address, int lane) {
  Runtime& runtime = access.runtime;
  const bool is_generic = access.site.space == Space::generic;
  const std::uint64_t at = is_generic ? address - kSharedWindow : address, size = runtime.shared.size();
  if (at <= size && kBytes <= size - at && at % kBytes == 0) return at;
  runtime.find(access.site.line,
               at % kBytes != 0
                   ? fmt::format("an mbarrier at {:#x}, which is no multiple of {}", address, kBytes)
                   : fmt::format("an mbarrier at {:#x}, outside of the {} bytes of shared memory", address, size),
               lane);
  return std::nullopt;
}

Mbarrier* Mbarriers::find(std::uint64_t offset) {
  const auto found = all_.find(offset);
  return found == all_.end() ? nullptr : &found->second;
}

Mbarrier* Mbarriers::find(const Access& access, std::uint64_t offset, int lane) {
  Mbarrier* found = find(offset);
  const bool whole =
      found != nullptr && std::memchr(access.runtime.shared_written.data() + offset, 1, kBytes) == nullptr;
  if (whole) {
    if (is_initialised(access.runtime, *found, lane)) return found;
    const auto& t = access.runtime.warps[found->warp].thread;
    access.runtime.find(
        access.site.line,
        fmt::format("an mbarrier that thread ({}, {}, {}) initialised in line {}, and no barrier orders the two",
                    t[0][found->lane], t[1][found->lane], t[2][found->lane], found->line),
        lane, true);
    return found;
  }
  access.runtime.find(access.site.line,
                      found == nullptr ? fmt::format("no mbarrier was initialised at {:#x} of shared memory", offset)
                                       : fmt::format("the mbarrier at {:#x} of shared memory was overwritten", offset),
                      lane);
  return nullptr;
}

void Mbarriers::init(const Access& access, std::uint64_t offset, std::uint64_t count, int lane) {
  Runtime& runtime = access.runtime;
  if (count == 0 || count > Mbarrier::kMost) {
    return runtime.find(access.site.line,
                        fmt::format("an mbarrier of {} arrivals, legal: 1 to {}", count, Mbarrier::kMost), lane);
  }
  Mbarrier made;
  made.expected = made.pending = static_cast<std::uint32_t>(count);
  made.warp = runtime.warp->number;
  made.clock = runtime.races.order.now(made.warp);
  made.lane = lane;
  made.line = access.site.line;
  if (!all_.emplace(offset, made).second) {
    return runtime.find(
        access.site.line,
        fmt::format("an mbarrier is initialised at {:#x}, where there is one: mbarrier.inval is missing", offset),
        lane);
  }
  std::memset(runtime.shared.data() + offset, 0xff, kBytes);
  std::memset(runtime.shared_written.data() + offset, 0, kBytes);
}

std::string Mbarriers::words() const {
  std::string words;
  int rest = 8;
  for (const auto& [offset, barrier] : all_) {
    if (rest-- == 0) return words + "; and more";
    words += fmt::format("; the mbarrier at {:#x}: phase {}, {} of {} arrivals and {} bytes are missing", offset,
                         barrier.phase, barrier.pending, barrier.expected, barrier.bytes);
  }
  return words;
}

extern "C" void ptx_mbarrier(Context* context, std::uint32_t lanes, const std::uint64_t* addresses,
                             const std::uint64_t* values, std::uint64_t* states, std::uint32_t number) {
  if (context->budget < 0) return;  // after a finding nothing is touched any more
  Runtime& runtime = *context->runtime;
  const Access access = access_of(context, number, true);
  const auto operation = static_cast<Operation>(access.site.operation);
  for (; lanes != 0; lanes &= lanes - 1) {
    const int l = std::countr_zero(lanes);
    const auto offset = Mbarriers::offset(access, addresses[l], l);
    if (!offset) return;
    const bool is_plain = operation == Operation::init || operation == Operation::invalidate;
    watch(access, l, addresses, is_plain ? Touch::write : Touch::strong_write);
    ++runtime.changes;
    if (operation == Operation::init) {
      runtime.mbarriers.init(access, *offset, values[l] & UINT32_MAX, l);
      continue;
    }
    Mbarrier* barrier = runtime.mbarriers.find(access, *offset, l);
    if (barrier == nullptr) return;
    if (operation == Operation::invalidate) {
      runtime.mbarriers.invalidate(*offset);
      continue;
    }
    if (operation == Operation::follow || operation == Operation::follow_no_count) {
      if (!follow(access, *barrier, *offset, l)) return;
      continue;
    }
    states[l] = barrier->state();
    if (!change(access, *barrier, operation, values[l], l)) return;
  }
}

extern "C" std::uint32_t ptx_mbarrier_wait(Context* context, std::uint32_t lanes, const std::uint64_t* addresses,
                                           const std::uint64_t* values, std::uint32_t number) {
  if (context->budget < 0) return 0;
  Runtime& runtime = *context->runtime;
  const Access access = access_of(context, number, false);
  const bool by_parity = static_cast<Operation>(access.site.operation) == Operation::wait_parity;
  std::uint32_t over = 0;
  std::uint64_t hash = lanes;
  std::set<std::uint64_t> in_vain;
  for (; lanes != 0; lanes &= lanes - 1) {
    const int l = std::countr_zero(lanes);
    const auto offset = Mbarriers::offset(access, addresses[l], l);
    if (!offset) return 0;
    watch(access, l, addresses, Touch::strong_read);
    const Mbarrier* barrier = runtime.mbarriers.find(access, *offset, l);
    if (barrier == nullptr) return 0;
    const bool is_over = barrier->is_over(values[l], by_parity);
    hash = mixed(mixed(hash, addresses[l]), 2 * barrier->phase + (is_over ? 1 : 0));
    if (!is_over) in_vain.insert(*offset);
    if (!is_over) continue;
    over |= 1U << l;
    runtime.races.order.acquire(runtime.warp->number, l, barrier->completed, access.site.acquires);
  }
  for (const std::uint64_t offset : in_vain) {
    runtime.bulk.hurry(runtime, offset);
    for (Warp& warp : runtime.warps) warp.copies.hurry(runtime, offset);
  }
  runtime.observe(number, hash);
  return over;
}

}  // namespace flashproof::ptx
