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

/// "which warp 3 wrote in line 17, and no barrier orders the two".
std::string words_of(const Conflict& conflict, const Runtime& runtime) {
  const bool is_async = conflict.warp == runtime.warps.size();
  std::string who = conflict.in_other_block ? "a warp of another block"
                    : is_async              ? "an asynchronous operation"
                                            : fmt::format("warp {}", conflict.warp),
              why = is_async ? "no wait for it orders the two" : "no barrier orders the two";
  if (conflict.in_other_block)
    why = conflict.too_narrow ? "of scope .cta neither is for the other's block" : "nothing orders the two";
  if (conflict.lane >= 0) {
    const auto& t = runtime.warp->thread;
    who = fmt::format("thread ({}, {}, {})", t[0][conflict.lane], t[1][conflict.lane], t[2][conflict.lane]);
    why = "no bar.warp.sync orders the two";
  }
  if (conflict.unproxied) why = "no fence.proxy.async lies between the two";
  return fmt::format("which {} {} in line {}, and {}", who, conflict.wrote ? "wrote" : "read", conflict.line, why);
}

}  // namespace

void Access::watch(std::uint32_t lanes, const std::uint64_t* addresses, Touch how, const void* values) const {
  if (!runtime.wanted->finds_races) return;
  Races& races = runtime.races;
  races.begin_instruction();
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const auto at = bytes_of(*this, addresses[lane]);
    if (!at) continue;
    const Accessor by{runtime.warp->number, lane, site.line, site.scope != MemoryScope::cta};
    const bool is_strong = how == Touch::strong_read || how == Touch::strong_write;
    const bool follows = is_strong && races.is_strong(at->address, at->is_shared);
    const bool is_same =
        how == Touch::write && changes_nothing(*this, *at, static_cast<const std::byte*>(values), lane);
    const Touch as = is_same ? Touch::same : how;
    const auto conflict =
        at->is_shared ? races.shared(by, at->address, bytes, as) : races.global(by, at->address, bytes, as);
    if (is_strong) {
      const bool is_atomic = values == nullptr && how == Touch::strong_write;
      races.order.access(
          by.warp, lane, at->address, at->is_shared,
          {site.scope, site.observes, how == Touch::strong_write, site.acquires, site.releases, is_atomic}, follows);
    }
    if (!conflict) continue;
    runtime.find(site.line,
                 fmt::format("race: {}{}, {}", text(addresses[lane]), at->is_shared ? " of shared memory" : "",
                             words_of(*conflict, runtime)),
                 lane, true, FindingKind::race);
    return;
  }
}

bool watch_async(Runtime& runtime, int line, int lane, bool is_shared, std::uint64_t address, std::uint64_t bytes,
                 Touch how) {
  if (!runtime.wanted->finds_races) return false;
  if (!is_shared) {
    const Range* range = runtime.range(address, address + bytes);
    if (range == nullptr || !range->writable) return false;
  }
  runtime.races.begin_instruction();
  const Accessor by{runtime.races.order.agent(), 0, line, true, true};
  const auto conflict =
      is_shared ? runtime.races.shared(by, address, bytes, how) : runtime.races.global(by, address, bytes, how);
  if (!conflict) return false;
  runtime.find(line,
               fmt::format("race: {} {} bytes at {:#x}{} asynchronously, {}", how == Touch::write ? "writes" : "reads",
                           bytes, address, is_shared ? " of shared memory" : "", words_of(*conflict, runtime)),
               lane, true, FindingKind::race);
  return true;
}

}  // namespace flashproof::ptx
