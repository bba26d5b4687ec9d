// Accesses on their way to the search for races: which bytes of which memory they are, and what is said of a race.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "kernels/ptx/run/access.h"

namespace flashproof::ptx {
namespace {

struct Bytes {
  bool is_shared;
  std::uint64_t address;  // or the offset in shared memory
};

/// Nothing for memory that one thread alone has or that is not written, and for an address that the access itself is refused for.
std::optional<Bytes> bytes_of(const Access& access, std::uint64_t address) {
  if (address % access.align != 0) return std::nullopt;
  Space space = access.site.space;
  if (space == Space::generic) {
    const bool is_shared = address - kSharedWindow < kWindowBytes;
    space = is_shared ? Space::shared : Space::global;
    address -= is_shared ? kSharedWindow : 0;
  }
  if (space == Space::shared) {
    const std::uint64_t size = access.runtime.shared.size();
    return address <= size && access.bytes <= size - address ? std::optional(Bytes{true, address}) : std::nullopt;
  }
  if (space != Space::global) return std::nullopt;
  const Range* range = access.runtime.range(address, address + access.bytes);
  return range != nullptr && range->writable ? std::optional(Bytes{false, address}) : std::nullopt;
}

/// Does the lane store what is there?
bool changes_nothing(const Access& access, const Bytes& bytes, const std::byte* values, int lane) {
  if (values == nullptr) return false;
  const std::byte* there =
      bytes.is_shared ? access.runtime.shared.data() + bytes.address
                      : reinterpret_cast<const std::byte*>(bytes.address);  // NOLINT(performance-no-int-to-ptr)
  const std::size_t size = access.site.bytes;
  for (std::size_t i = 0; i < access.site.count; ++i) {
    if (std::memcmp(there + i * size, values + (i * kLanes + static_cast<std::size_t>(lane)) * size, size) != 0)
      return false;
  }
  return true;
}

}  // namespace

void Access::watch(std::uint32_t lanes, const std::uint64_t* addresses, Touch how, const void* values) const {
  Races& races = runtime.races;
  const std::uint32_t warp = runtime.warp->number;
  if (races.is_alone(site.space == Space::shared)) return;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const auto at = bytes_of(*this, addresses[lane]);
    if (!at) continue;
    if (how == Touch::strong_read || how == Touch::strong_write) races.order(warp, at->address, at->is_shared);
    const auto conflict = at->is_shared ? races.shared(warp, at->address, bytes, how, site.line)
                                        : races.global(warp, at->address, bytes, how, site.line);
    if (!conflict || changes_nothing(*this, *at, static_cast<const std::byte*>(values), lane)) continue;
    const std::string other =
        conflict->in_other_block ? "a warp of another block" : fmt::format("warp {}", conflict->warp);
    runtime.find(site.line,
                 fmt::format("race: {}{}, which {} {} in line {}, and {} orders the two", text(addresses[lane]),
                             at->is_shared ? " of shared memory" : "", other, conflict->wrote ? "wrote" : "read",
                             conflict->line, conflict->in_other_block ? "nothing" : "no barrier"),
                 lane, true);
    return;
  }
}

}  // namespace flashproof::ptx
