#include "kernels/ptx/run/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace flashproof::ptx {
namespace {

const char* name(Space space) {
  constexpr const char* kNames[] = {"memory",        "memory",       "constant memory",
                                    "shared memory", "local memory", "the parameters"};
  return kNames[static_cast<int>(space)];
}

}  // namespace

std::string Access::text(std::uint64_t address) const {
  return fmt::format("{} {} bytes at {:#x}", write ? "writes" : "reads", bytes, address);
}

std::byte* Access::outside(std::uint64_t address, int lane, Space space, std::uint64_t size) const {
  runtime.find(site.line, fmt::format("{} of {}, which has {} bytes", text(address), name(space), size), lane);
  return nullptr;
}

/// Where the lane's bytes lie; null after a finding.
std::byte* Access::place(std::uint64_t address, int lane) const {
  if (address % align != 0) {
    runtime.find(site.line, fmt::format("{}, which is no multiple of {}", text(address), align), lane);
    return nullptr;
  }
  Space space = site.space;
  if (space == Space::generic) {
    for (const auto& [window, of] :
         {std::pair{kSharedWindow, Space::shared}, {kLocalWindow, Space::local}, {kParameterWindow, Space::param}}) {
      if (address - window >= kWindowBytes) continue;
      space = of;
      address -= window;
      break;
    }
  }
  if (space == Space::shared) return shared(address, lane);
  if (space == Space::local) return local(address, lane);
  if (space == Space::param) {
    const auto size = static_cast<std::uint64_t>(runtime.parameter_bytes);
    if (write || address > size || bytes > size - address) return outside(address, lane, space, size);
    return const_cast<std::byte*>(runtime.context.parameters) + address;
  }
  const Range* range = runtime.range(address, address + bytes);
  if (range == nullptr) {
    runtime.find(site.line, fmt::format("{}, in no array of the launch{}", text(address), near(address)), lane);
    return nullptr;
  }
  if (write && !range->writable) {
    runtime.find(site.line, fmt::format("{}, in {}, which is read only", text(address), *range->name), lane);
    return nullptr;
  }
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr): kernels compute with addresses
}

/// The array that the address only just misses.
std::string Access::near(std::uint64_t address) const {
  std::uint64_t least = 65536;
  std::string text;
  for (const Range& range : runtime.ranges) {
    if (address < range.low && range.low - address <= least) {
      least = range.low - address;
      text = fmt::format(" ({} bytes before {})", least, *range.name);
    }
    if (address >= range.high && address - range.high < least) {
      least = address - range.high;
      text = fmt::format(" ({} bytes behind the end of {})", least, *range.name);
    }
  }
  return text;
}

std::byte* Access::shared(std::uint64_t address, int lane) const {
  const std::uint64_t size = runtime.shared.size();
  if (address > size || bytes > size - address) return outside(address, lane, Space::shared, size);
  std::uint8_t* written = runtime.shared_written.data() + address;
  if (write) {
    std::memset(written, 1, bytes);
  } else if (std::memchr(written, 0, bytes) != nullptr) {
    if (runtime.lines_found.contains(site.line)) return runtime.shared.data() + address;
    const bool under_way = std::ranges::any_of(
        runtime.warps, [&](const Warp& warp) { return warp.copies.write(address, address + bytes); });
    const bool in_bulk = runtime.bulk.write(address, address + bytes);
    runtime.find(site.line,
                 fmt::format("{} of shared memory that {}", text(address),
                             under_way ? "a cp.async writes which was not waited for"
                             : in_bulk ? "a cp.async.bulk writes which was not waited for"
                                       : "were not all written before"),
                 lane, true);
  }
  return runtime.shared.data() + address;
}

std::byte* Access::local(std::uint64_t address, int lane) const {
  const auto size = static_cast<std::uint64_t>(runtime.entry->layout.local_bytes);
  if (address > size || bytes > size - address) return outside(address, lane, Space::local, size);
  return runtime.local.get() + size * (runtime.warp->number * kLanes + static_cast<std::uint64_t>(lane)) + address;
}

Addresses::Addresses(std::uint32_t lanes, const std::uint64_t* given, std::uint64_t bytes) {
  std::memcpy(at, given, sizeof at);
  if (lanes != kAllLanes) {
    const std::uint64_t known = given[std::countr_zero(lanes)];
    for (int l = 0; l < kLanes; ++l) at[l] = lanes >> l & 1 ? at[l] : known;
  }
  std::uint64_t differs = 0, strays = 0;
  for (int l = 0; l < kLanes; ++l) {
    joined |= at[l];
    differs |= at[l] ^ at[0];
    strays |= at[l] ^ (at[0] + static_cast<std::uint64_t>(l) * bytes);
  }
  equal = differs == 0;
  contiguous = strays == 0 && lanes == kAllLanes;
}

bool Addresses::lie_in(std::uint64_t low, std::uint64_t high, std::uint64_t bytes) const {
  std::uint64_t beyond = 0;  // bit 63: a difference below 0, for [low, high) is shorter than 2^63
  for (int l = 0; l < kLanes; ++l) beyond |= (at[l] - low) | (high - bytes - at[l]);
  return beyond >> 63 == 0;
}

std::optional<Mapping> Access::map(const Addresses& addresses) const {
  if (addresses.joined % bytes != 0) return std::nullopt;
  const auto in_bytes = [&](std::uint64_t size) { return size >= bytes && addresses.lie_in(0, size, bytes); };
  if (site.space == Space::shared) {
    if (!in_bytes(runtime.shared.size())) return std::nullopt;
    return Mapping{reinterpret_cast<std::uint64_t>(runtime.shared.data()), 0};
  }
  if (site.space == Space::local) {
    const auto size = static_cast<std::uint64_t>(runtime.entry->layout.local_bytes);
    if (!in_bytes(size)) return std::nullopt;
    return Mapping{reinterpret_cast<std::uint64_t>(runtime.local.get()) + size * runtime.warp->number * kLanes, size};
  }
  if (site.space == Space::param) {
    if (write || !in_bytes(static_cast<std::uint64_t>(runtime.parameter_bytes))) return std::nullopt;
    return Mapping{reinterpret_cast<std::uint64_t>(runtime.context.parameters), 0};
  }
  const Range* range = runtime.range(addresses.at[0], addresses.at[0] + bytes);
  if (range == nullptr || (write && !range->writable) || !addresses.lie_in(range->low, range->high, bytes))
    return std::nullopt;
  return Mapping{};
}

Access access_of(Context* context, std::uint32_t site, bool write, std::uint64_t bytes) {
  Runtime& runtime = *context->runtime;
  const Site& at = runtime.entry->layout.sites[site];
  return {runtime, at, write, bytes != 0 ? bytes : static_cast<std::uint64_t>(at.bytes) * at.count};
}

}  // namespace flashproof::ptx
