#include "kernels/ptx/run/races.h"

#include <algorithm>
#include <bit>

namespace flashproof::ptx {
namespace {

constexpr std::uint64_t kPage = 1024;          // granules
constexpr std::uint64_t kMostBytes = 1 << 30;  // of pages

bool is_write(Touch how) { return how == Touch::write || how == Touch::strong_write; }
bool is_strong(Touch how) { return how == Touch::strong_read || how == Touch::strong_write; }

}  // namespace

void Races::prepare(std::size_t warps, std::uint64_t granule, std::uint64_t shared_bytes, bool fences, bool async) {
  warps_ = warps + (async ? 1 : 0);
  granule_ = granule;
  stride_ = reads + warps_;
  shared_cells_ = (shared_bytes + granule - 1) / granule;
  order.prepare(warps, fences, async);
}

bool Races::is_strong(std::uint64_t address, bool is_shared) {
  const std::uint32_t* cell = is_shared ? shared_.data() + address / granule_ * stride_ : cell_of(address);
  return cell == nullptr || (cell[flags] & strong_write) != 0;
}

std::optional<Conflict> Races::earlier_write(const std::uint32_t* cell, const Accessor& by, Touch how, bool is_global) {
  const std::uint32_t block = cell[write_block], warp = cell[write_warp], clock = cell[write_clock];
  const bool is_here = block == order.block();
  const auto line = static_cast<int>(cell[write_line]);
  if (block == 0 || (!is_here && !is_global)) return std::nullopt;
  const bool both_strong = ptx::is_strong(how) && (cell[flags] & strong_write) != 0;
  if (both_strong && (is_here || (by.is_wide && (cell[flags] & narrow_write) == 0))) return std::nullopt;
  if (is_here && warp == by.warp && !by.is_async) {
    const bool ordered = (cell[write_lanes] >> by.lane & 1) != 0 || clock < order.last_collective(warp) ||
                         cell[write_instruction] == instruction_;
    if (ordered) return std::nullopt;
  } else if (is_here && !by.is_async && order.met(by.warp, warp, clock)) {
    return std::nullopt;
  }
  // Who has read a strong write strongly comes behind it.
  if (cell[observed_block] == order.block() && (!is_here || cell[observed_warp] == by.warp)) return std::nullopt;
  if (order.knows(by.warp, by.lane, block, warp, clock, cell[write_lanes])) return std::nullopt;
  const bool of_lane = is_here && warp == by.warp && !by.is_async;
  return Conflict{true, !is_here, both_strong, false, warp, of_lane ? std::countr_zero(cell[write_lanes]) : -1, line};
}

/// What a thread has written an asynchronous operation reads only behind a fence.proxy.async.
std::optional<Conflict> Races::unproxied_write(const std::uint32_t* cell) {
  const std::uint32_t block = cell[write_block], warp = cell[write_warp];
  if (block == 0 || warp == order.agent() || order.is_proxied(block, warp, cell[write_clock], cell[write_lanes]))
    return std::nullopt;
  return Conflict{true, block != order.block(), false, true, warp, -1, static_cast<int>(cell[write_line])};
}

/// Of another block. Of several the last one stands for all.
std::optional<Conflict> Races::read_elsewhere(const std::uint32_t* cell, const Accessor& by) {
  const std::uint32_t block = cell[read_block];
  bool ordered = true;
  if (block == order.block()) {
    ordered = order.knows_another_block(by.warp, by.lane);
  } else {
    for (std::uint32_t warp = 0; ordered && warp < warps_; ++warp) {
      const std::uint32_t lanes = warp == cell[read_warp] ? cell[read_lanes] : 0;
      ordered = cell[reads + warp] == 0 || order.knows(by.warp, by.lane, block, warp, cell[reads + warp], lanes);
    }
  }
  if (ordered) return std::nullopt;
  return Conflict{false, true, (cell[flags] & narrow_read) != 0, false, 0, -1, static_cast<int>(cell[read_line])};
}

std::optional<Conflict> Races::earlier_read(const std::uint32_t* cell, const Accessor& by, Touch how, bool is_global) {
  const auto line = static_cast<int>(cell[read_line]);
  const bool is_here = cell[read_block] == order.block(),
             elsewhere = (!is_here && cell[read_block] != 0) || (cell[flags] & other_blocks_read) != 0;
  const bool both_strong = ptx::is_strong(how) && (cell[flags] & strong_read) != 0;
  if (both_strong && (!elsewhere || (by.is_wide && (cell[flags] & narrow_read) == 0))) return std::nullopt;
  if (is_global && elsewhere) {
    if (const auto found = read_elsewhere(cell, by)) return found;
  }
  if (!is_here || both_strong) return std::nullopt;
  for (std::uint32_t other = 0; other < warps_; ++other) {
    const std::uint32_t clock = cell[reads + other], lanes = other == cell[read_warp] ? cell[read_lanes] : 0;
    if (clock == 0 || (!by.is_async && (other == by.warp || order.met(by.warp, other, clock)))) continue;
    if (!order.knows(by.warp, by.lane, order.block(), other, clock, lanes))
      return Conflict{false, false, false, false, other, -1, line};
  }
  const std::uint32_t others = cell[read_lanes] & ~(1U << by.lane), clock = cell[reads + by.warp];
  const bool by_lanes = cell[read_warp] == by.warp && clock >= order.last_collective(by.warp) && others != 0 &&
                        !ptx::is_strong(how) && cell[read_instruction] != instruction_ &&
                        !order.knows(by.warp, by.lane, order.block(), by.warp, clock, others);
  return by_lanes ? std::optional(Conflict{false, false, false, false, by.warp, std::countr_zero(others), line})
                  : std::nullopt;
}

void Races::note_read(std::uint32_t* cell, const Accessor& by, Touch how) {
  if (cell[read_block] != order.block()) {
    cell[flags] |= cell[read_block] != 0 ? other_blocks_read : 0;
    std::fill_n(cell + reads, warps_, 0);
    cell[read_block] = order.block();
  }
  const bool is_new = cell[read_warp] != by.warp || cell[reads + by.warp] < order.last_collective(by.warp);
  cell[read_lanes] = (is_new ? 0 : cell[read_lanes]) | 1U << by.lane;
  cell[reads + by.warp] = order.now(by.warp);
  cell[read_warp] = by.warp;
  cell[read_line] = static_cast<std::uint32_t>(by.line);
  cell[read_instruction] = instruction_;
  if (!ptx::is_strong(how)) return;
  cell[flags] |= strong_read | (by.is_wide ? 0 : narrow_read);
  if ((cell[flags] & strong_write) == 0) return;
  cell[observed_block] = order.block();
  cell[observed_warp] = by.warp;
}

void Races::note_write(std::uint32_t* cell, const Accessor& by, Touch how) {
  cell[write_lanes] = (is_of_this_instruction(cell, by) ? cell[write_lanes] : 0) | 1U << by.lane;
  cell[write_block] = order.block();
  cell[write_clock] = order.now(by.warp);
  cell[write_warp] = by.warp;
  cell[write_line] = static_cast<std::uint32_t>(by.line);
  cell[write_instruction] = instruction_;
  cell[flags] = ptx::is_strong(how) ? strong_write | (by.is_wide ? 0 : narrow_write) : 0;
  cell[read_block] = cell[observed_block] = 0;
}

std::optional<Conflict> Races::touch(std::uint32_t* cell, const Accessor& by, Touch how, bool is_global) {
  std::optional<Conflict> found = earlier_write(cell, by, how, is_global);
  if (how == Touch::same) {
    // A look at what is there; over what another thread has just written it is the thread's own from now on.
    found || is_of_this_instruction(cell, by) ? note_write(cell, by, how) : note_read(cell, by, how);
    return std::nullopt;
  }
  if (is_write(how)) {
    if (!found) found = earlier_read(cell, by, how, is_global);
    note_write(cell, by, how);
  } else {
    if (!found && by.is_async) found = unproxied_write(cell);
    note_read(cell, by, how);
  }
  return found;
}

std::optional<Conflict> Races::shared(const Accessor& by, std::uint64_t offset, std::uint64_t bytes, Touch how) {
  std::optional<Conflict> found;
  for (std::uint64_t at = offset / granule_; at < (offset + bytes) / granule_; ++at) {
    const auto here = touch(shared_.data() + at * stride_, by, how, false);
    if (!found) found = here;
  }
  return found;
}

std::uint32_t* Races::cell_of(std::uint64_t address) {
  const std::uint64_t at = address / granule_, page = at / kPage;
  if (page != last_page_) {
    std::unique_ptr<std::uint32_t[]>& cells = pages_[page];
    if (!cells && pages_.size() > kMostBytes / (kPage * stride_ * sizeof(std::uint32_t))) return nullptr;
    if (!cells) cells = std::make_unique<std::uint32_t[]>(kPage * stride_);
    last_page_ = page;
    last_cells_ = cells.get();
  }
  return last_cells_ + at % kPage * stride_;
}

std::optional<Conflict> Races::global(const Accessor& by, std::uint64_t address, std::uint64_t bytes, Touch how) {
  std::optional<Conflict> found;
  for (std::uint64_t at = 0; at < bytes; at += granule_) {
    std::uint32_t* const cell = cell_of(address + at);
    if (cell == nullptr) return found;
    const auto here = touch(cell, by, how, true);
    if (!found) found = here;
  }
  return found;
}

}  // namespace flashproof::ptx
