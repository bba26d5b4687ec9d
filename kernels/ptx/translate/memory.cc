// Checked loads and stores of a warp: every lane's address lies in one array of the launch, in its block's shared memory, in its own
// local memory or in the parameters, is aligned, and is not read before it was written where that can be known (shared memory).
#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/ptx/run/access.h"
#include "kernels/ptx/run/runtime.h"

namespace flashproof::ptx {
namespace {

std::byte* host(std::uint64_t address) {
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr): as access.cc
}

/// Whether all bytes of a lane, in a map of bytes 0 and 1, are 1.
template <int Bytes>
bool all_ones(const std::uint8_t* map) {
  if constexpr (Bytes > 8) {
    return all_ones<8>(map) && all_ones<Bytes - 8>(map + 8);
  } else {
    std::uint64_t bits = ~0ULL;
    std::memcpy(&bits, map, Bytes);
    return (bits | ~(~0ULL >> (64 - 8 * Bytes))) == (0x0101010101010101ULL | ~(~0ULL >> (64 - 8 * Bytes)));
  }
}

/// The same of every lane. Where they are side by side, or one, one look is enough.
template <int Bytes>
bool was_written(const Access& access, const Addresses& addresses) {
  if (access.site.space != Space::shared) return true;
  const std::uint8_t* written = access.runtime.shared_written.data();
  if (addresses.equal) return all_ones<Bytes>(written + addresses.at[0]);
  if (addresses.contiguous) return std::memchr(written + addresses.at[0], 0, kLanes * Bytes) == nullptr;
  bool all = true;
  for (int l = 0; l < kLanes; ++l) all &= all_ones<Bytes>(written + addresses.at[l]);
  return all;
}

using Words = std::uint32_t __attribute__((vector_size(16)));

/// Four words of each lane -> four vectors of lanes, four lanes at a time.
template <class At>
void transpose(const At& at, std::uint32_t* out) {
  for (int l = 0; l < kLanes; l += 4) {
    Words row[4];
    for (int i = 0; i < 4; ++i) std::memcpy(&row[i], at(l + i), sizeof(Words));
    const Words low = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5),
                high = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7);
    const Words low2 = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5),
                high2 = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
    const Words column[] = {
        __builtin_shufflevector(low, low2, 0, 1, 4, 5), __builtin_shufflevector(low, low2, 2, 3, 6, 7),
        __builtin_shufflevector(high, high2, 0, 1, 4, 5), __builtin_shufflevector(high, high2, 2, 3, 6, 7)};
    for (int k = 0; k < 4; ++k) std::memcpy(out + k * kLanes + l, &column[k], sizeof(Words));
  }
}

template <class T, int Count>
void load(const Access& access, std::uint32_t lanes, const std::uint64_t* given, T* out) {
  constexpr int kBytes = static_cast<int>(sizeof(T)) * Count;
  const Addresses addresses(lanes, given, kBytes);
  const auto mapping = access.map(addresses);
  if (mapping && was_written<kBytes>(access, addresses)) {
    const auto at = [&](int lane) {
      return host(addresses.at[lane] + mapping->offset + mapping->stride * static_cast<std::uint64_t>(lane));
    };
    if (Count == 1 && addresses.contiguous && mapping->stride == 0) {
      std::memcpy(out, at(0), kLanes * sizeof(T));
    } else if (addresses.equal && mapping->stride == 0) {
      T values[Count];
      std::memcpy(values, at(0), sizeof values);
      for (int k = 0; k < Count; ++k) std::fill_n(out + k * kLanes, kLanes, values[k]);
    } else if constexpr (Count == 4 && sizeof(T) == 4) {
      transpose(at, out);
    } else {
      for (int l = 0; l < kLanes; ++l) {
        T values[Count];
        std::memcpy(values, at(l), sizeof values);
        for (int k = 0; k < Count; ++k) out[k * kLanes + l] = values[k];
      }
    }
    return;
  }
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    const std::byte* from = access.place(given[l], l);
    if (from == nullptr) return;
    for (std::size_t k = 0; k < Count; ++k)
      std::memcpy(out + k * kLanes + static_cast<std::size_t>(l), from + sizeof(T) * k, sizeof(T));
  }
}

template <class T, int Count>
void store(const Access& access, std::uint32_t lanes, const std::uint64_t* given, const T* values) {
  constexpr int kBytes = static_cast<int>(sizeof(T)) * Count;
  const Addresses addresses(lanes, given, kBytes);
  const auto mapping = access.map(addresses);
  std::uint8_t* written = access.runtime.shared_written.data();
  const bool shared = access.site.space == Space::shared;
  if (mapping && Count == 1 && addresses.contiguous && mapping->stride == 0) {
    std::memcpy(host(addresses.at[0] + mapping->offset), values, kLanes * sizeof(T));
    if (shared) std::memset(written + addresses.at[0], 1, kLanes * sizeof(T));
    return;
  }
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {  // of lanes with one address the last one stays
    const int l = std::countr_zero(rest);
    std::byte* to = mapping ? host(given[l] + mapping->offset + mapping->stride * static_cast<std::uint64_t>(l))
                            : access.place(given[l], l);
    if (to == nullptr) return;
    if (mapping && shared) std::memset(written + given[l], 1, kBytes);
    for (std::size_t k = 0; k < Count; ++k)
      std::memcpy(to + sizeof(T) * k, values + k * kLanes + static_cast<std::size_t>(l), sizeof(T));
  }
}

/// Calls `action` with a value of the element's type and a constant of the number of elements.
template <class Action>
void by_size(const Site& site, const Action& action) {
  const auto by_count = [&](auto element) {
    if (site.count == 1) return action(element, std::integral_constant<int, 1>{});
    if (site.count == 2) return action(element, std::integral_constant<int, 2>{});
    action(element, std::integral_constant<int, 4>{});
  };
  switch (site.bytes) {
    case 1:
      return by_count(std::uint8_t{});
    case 2:
      return by_count(std::uint16_t{});
    case 4:
      return by_count(std::uint32_t{});
    default:
      by_count(std::uint64_t{});
  }
}

}  // namespace

extern "C" void ptx_load(Context* context, std::uint32_t lanes, const std::uint64_t* addresses, void* out,
                         std::uint32_t site) {
  if (lanes == 0 || context->budget < 0) return;  // after a finding nothing is touched any more
  const Access access = access_of(context, site, false);
  access.watch(lanes, addresses, access.site.scope != MemoryScope::none ? Touch::strong_read : Touch::read);
  by_size(access.site, [&](auto element, auto count) {
    load<decltype(element), count()>(access, lanes, addresses, static_cast<decltype(element)*>(out));
  });
  if (access.site.scope == MemoryScope::none || context->budget < 0) return;
  const std::size_t size = access.site.bytes;
  std::uint64_t hash = lanes;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
    std::uint64_t value = 0;
    for (std::size_t k = 0; k < access.site.count; ++k) {
      std::memcpy(&value, static_cast<std::byte*>(out) + (k * kLanes + lane) * size, size);
      hash = mixed(hash, value);
    }
    hash = mixed(hash, addresses[lane]);
  }
  access.runtime.observe(site, hash);
}

extern "C" void ptx_pass(Context* context, std::uint32_t lanes, std::uint64_t from, std::uint64_t to,
                         std::uint64_t bytes) {
  const Runtime& runtime = *context->runtime;
  const auto size = static_cast<std::uint64_t>(runtime.entry->layout.local_bytes);
  for (; lanes != 0; lanes &= lanes - 1) {
    std::byte* mine = runtime.local.get() +
                      size * (runtime.warp->number * kLanes + static_cast<std::uint64_t>(std::countr_zero(lanes)));
    std::memmove(mine + to, mine + from, bytes);
  }
}

extern "C" void ptx_store(Context* context, std::uint32_t lanes, const std::uint64_t* addresses, const void* values,
                          std::uint32_t site) {
  if (lanes == 0 || context->budget < 0) return;  // after a finding nothing is touched any more
  const Access access = access_of(context, site, true);
  access.watch(lanes, addresses, access.site.scope != MemoryScope::none ? Touch::strong_write : Touch::write, values);
  by_size(access.site, [&](auto element, auto count) {
    store<decltype(element), count()>(access, lanes, addresses, static_cast<const decltype(element)*>(values));
  });
  ++(access.site.space != Space::local ? access.runtime.changes : access.runtime.news);
}

}  // namespace flashproof::ptx
