// Meetings, shuffles, reductions and atomics of translated code.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/ptx/run/access.h"
#include "kernels/ptx/run/runtime.h"
#include "kernels/ptx/translate/atomic_sum.h"

namespace flashproof::ptx {

namespace {

const Site& site_at(Context* context, std::uint32_t site) { return context->runtime->entry->layout.sites[site]; }

std::uint32_t combined(WarpReduction operation, bool is_signed, std::uint32_t a, std::uint32_t b) {
  const bool less = is_signed ? static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b) : a < b;
  switch (operation) {
    case WarpReduction::add:
      return a + b;
    case WarpReduction::min:
      return less ? a : b;
    case WarpReduction::max:
      return less ? b : a;
    case WarpReduction::bit_and:
      return a & b;
    case WarpReduction::bit_or:
      return a | b;
    default:
      return a ^ b;
  }
}

template <class T>
T changed(const Site& site, bool flush, T old, T operand, T other) {
  using Signed = std::make_signed_t<T>;
  const bool less = site.is_signed ? static_cast<Signed>(old) < static_cast<Signed>(operand) : old < operand;
  switch (static_cast<AtomicOperation>(site.operation)) {
    case AtomicOperation::add:
      return static_cast<T>(old + operand);
    case AtomicOperation::min:
      return less ? old : operand;
    case AtomicOperation::max:
      return less ? operand : old;
    case AtomicOperation::bit_and:
      return old & operand;
    case AtomicOperation::bit_or:
      return old | operand;
    case AtomicOperation::bit_xor:
      return old ^ operand;
    case AtomicOperation::exchange:
      return operand;
    case AtomicOperation::compare:
      return old == operand ? other : old;
    case AtomicOperation::increment:
      return static_cast<T>(old >= operand ? 0 : old + 1);
    case AtomicOperation::decrement:
      return static_cast<T>(old == 0 || old > operand ? operand : old - 1);
    default:
      return static_cast<T>(atomic_sum(site, flush, old, operand));
  }
}

template <class T>
void atomic(Context* context, std::uint32_t lanes, const std::uint64_t* addresses, const T* operands, T* out,
            std::uint32_t number) {
  const Site& site = site_at(context, number);
  Runtime& runtime = *context->runtime;
  std::uint64_t hash = lanes;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    std::byte* at = nullptr;
    for (const bool write : {false, true}) {
      at = access_of(context, number, write).place(addresses[l], l);
      if (at == nullptr) return;
    }
    access_of(context, number, true).watch(1U << l, addresses, Touch::strong_write);
    const std::byte* shared = runtime.shared.data();
    const bool is_shared = at >= shared && at < shared + runtime.shared.size();
    T old;
    std::memcpy(&old, at, sizeof old);
    const T now = changed(site, !is_shared, old, operands[l], operands[kLanes + l]);
    std::memcpy(at, &now, sizeof now);
    out[l] = old;
    runtime.changes += now != old ? 1 : 0;
    hash = mixed(mixed(hash, old), addresses[l]);
  }
  runtime.observe(number, hash);
}

}  // namespace

extern "C" void ptx_atomic(Context* context, std::uint32_t lanes, const std::uint64_t* addresses, const void* operands,
                           void* out, std::uint32_t site) {
  if (context->budget < 0) return;
  if (site_at(context, site).bytes == 4) {
    return atomic(context, lanes, addresses, static_cast<const std::uint32_t*>(operands),
                  static_cast<std::uint32_t*>(out), site);
  }
  if (site_at(context, site).bytes == 2) {
    return atomic(context, lanes, addresses, static_cast<const std::uint16_t*>(operands),
                  static_cast<std::uint16_t*>(out), site);
  }
  atomic(context, lanes, addresses, static_cast<const std::uint64_t*>(operands), static_cast<std::uint64_t*>(out),
         site);
}

extern "C" std::uint32_t ptx_meet(Context* context, std::uint32_t lanes, const std::uint32_t* members,
                                  std::uint32_t number) {
  const Site& site = site_at(context, number);
  Warp& warp = *context->runtime->warp;
  std::uint32_t go = 0;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    if ((go >> l & 1) != 0) continue;
    if ((members[l] >> l & 1) == 0) {
      context->runtime->find(site.line, fmt::format("the lane is no member of its mask {:#010x}", members[l]), l);
      return lanes;
    }
    std::uint32_t same = 0;  // of the lanes here, those with the same mask
    for (std::uint32_t others = lanes; others != 0; others &= others - 1) {
      const int other = std::countr_zero(others);
      same |= members[other] == members[l] ? 1U << other : 0;
    }
    if ((members[l] & warp.live & ~same) == 0) go |= same & members[l];
  }
  if (go != lanes) warp.park(site.block, lanes & ~go);
  return go;
}

extern "C" std::uint32_t ptx_shuffle(Context* context, std::uint32_t lanes, std::int32_t mode,
                                     const std::uint32_t* operands, std::uint32_t* out, std::uint32_t site) {
  const std::uint32_t *value = operands, *by = operands + kLanes, *clamp = by + kLanes, *members = clamp + kLanes;
  std::uint32_t inside = 0, missing = 0;
  for (int l = 0; l < kLanes; ++l) {
    const int b = static_cast<int>(by[l] & 31), c = static_cast<int>(clamp[l] & 31),
              segment = static_cast<int>(clamp[l] >> 8 & 31);
    const int last = (l & segment) | (c & ~segment), first = l & segment;
    int from = l;
    bool ok = false;
    switch (static_cast<ShuffleMode>(mode)) {
      case ShuffleMode::up:
        from = l - b;
        ok = from >= last;  // c is the segment's first lane there
        break;
      case ShuffleMode::down:
        from = l + b;
        ok = from <= last;
        break;
      case ShuffleMode::bfly:
        from = l ^ b;
        ok = from <= last;
        break;
      case ShuffleMode::idx:
        from = first | (b & ~segment);
        ok = from <= last;
    }
    if (!ok) from = l;
    out[l] = value[from];
    inside |= ok ? 1U << l : 0;
    if ((lanes >> l & 1) != 0 && ((lanes & members[l]) >> from & 1) == 0) missing |= 1U << from;
  }
  if (missing != 0) ptx_shuffle_fault(context, missing, site);
  return inside;
}

extern "C" void ptx_shuffle_fault(Context* context, std::uint32_t missing, std::uint32_t site) {
  context->runtime->find(site_at(context, site).line,
                         fmt::format("reads the register of a lane that does not take part: lanes {:#010x}", missing),
                         -1);
}

extern "C" void ptx_reduce(std::uint32_t lanes, std::int32_t operation, std::int32_t is_signed,
                           const std::uint32_t* operands, std::uint32_t* out) {
  const auto kind = static_cast<WarpReduction>(operation);
  for (int l = 0; l < kLanes; ++l) {
    std::uint32_t rest = operands[kLanes + l] & lanes, result = 0;
    if (kind == WarpReduction::match) {
      for (; rest != 0; rest &= rest - 1) {
        const int other = std::countr_zero(rest);
        result |= operands[other] == operands[l] ? 1U << other : 0;
      }
    } else if (rest != 0) {
      result = operands[std::countr_zero(rest)];
      for (rest &= rest - 1; rest != 0; rest &= rest - 1)
        result = combined(kind, is_signed != 0, result, operands[std::countr_zero(rest)]);
    }
    out[l] = result;
  }
}

extern "C" void ptx_trap(Context* context, std::uint32_t lanes, std::uint32_t site) {
  if (lanes == 0) return;
  const Site& at = site_at(context, site);
  context->runtime->find(at.line, at.operation != 0 ? "brkpt" : "trap", std::countr_zero(lanes));
}

extern "C" void ptx_fence(Context* context, std::uint32_t lanes, std::int32_t scope) {
  Runtime& runtime = *context->runtime;
  runtime.races.order.fence(runtime.warp->number, lanes, static_cast<MemoryScope>(scope));
}

extern "C" void ptx_fence_proxy(Context* context, std::uint32_t lanes) {
  Runtime& runtime = *context->runtime;
  runtime.races.order.fence_proxy(runtime.warp->number, lanes);
}

extern "C" void ptx_cluster_rank(Context* context, std::uint32_t lanes, const std::uint32_t* ranks,
                                 std::uint32_t site) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const int l = std::countr_zero(lanes);
    if (ranks[l] == 0) continue;
    return context->runtime->find(site_at(context, site).line,
                                  fmt::format("block {} of the cluster, which has one: legal: 0", ranks[l]), l);
  }
}

extern "C" void ptx_order_lanes(Context* context) {
  context->runtime->races.order.collective(context->runtime->warp->number);
}

ShuffleMode shuffle_mode(std::string_view name) {
  return name == "up"     ? ShuffleMode::up
         : name == "down" ? ShuffleMode::down
         : name == "bfly" ? ShuffleMode::bfly
                          : ShuffleMode::idx;
}

WarpReduction warp_reduction(std::string_view name) {
  static constexpr std::pair<std::string_view, WarpReduction> kNames[] = {
      {"add", WarpReduction::add},     {"min", WarpReduction::min},   {"max", WarpReduction::max},
      {"and", WarpReduction::bit_and}, {"or", WarpReduction::bit_or}, {"xor", WarpReduction::bit_xor}};
  for (const auto& [known, reduction] : kNames) {
    if (known == name) return reduction;
  }
  return WarpReduction::match;
}

}  // namespace flashproof::ptx
