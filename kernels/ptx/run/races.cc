#include "kernels/ptx/run/races.h"

#include <algorithm>
#include <bit>

namespace flashproof::ptx {
namespace {

constexpr std::uint64_t kPage = 1024;          // granules
constexpr std::uint64_t kMostBytes = 1 << 30;  // of pages
constexpr std::size_t kMostStrong = 1 << 20;   // addresses

bool is_write(Touch how) { return how == Touch::write || how == Touch::strong_write; }
bool is_strong(Touch how) { return how == Touch::strong_read || how == Touch::strong_write; }

}  // namespace

void Races::prepare(std::size_t warps, std::uint64_t granule, std::uint64_t shared_bytes, bool fences) {
  warps_ = warps;
  granule_ = granule;
  fences_ = fences;
  stride_ = reads + warps;
  clocks_.resize(warps * warps);
  shared_.assign((shared_bytes + granule - 1) / granule * stride_, 0);
}

void Races::begin_block() {
  ++block_;
  ordered_ = false;
  std::ranges::fill(clocks_, 0);
  for (std::uint32_t warp = 0; warp < warps_; ++warp) clock_of(warp)[warp] = 1;
}

void Races::meet(std::span<const std::uint32_t> warps) {
  std::vector<std::uint32_t> joined(warps_);
  for (const std::uint32_t warp : warps) {
    for (std::size_t i = 0; i < warps_; ++i) joined[i] = std::max(joined[i], clock_of(warp)[i]);
  }
  for (const std::uint32_t warp : warps) {
    std::ranges::copy(joined, clock_of(warp));
    ++clock_of(warp)[warp];
  }
}

void Races::order(std::uint32_t warp, std::uint64_t address, bool is_shared) {
  if (!fences_) return;
  if (strong_.size() == kMostStrong) {  // no room to remember more addresses: no claim about what such an access orders
    strong_.clear();
    ordered_ = true;
  }
  Strong& there = strong_[is_shared ? address | 1ULL << 63 : address];
  std::uint32_t* const mine = clock_of(warp);
  if (there.block == block_) {
    for (std::size_t i = 0; i < warps_; ++i) mine[i] = std::max(mine[i], there.clock[i]);
  } else if (there.block != 0 && !is_shared) {
    ordered_ = true;
  }
  there.block = block_;
  there.clock.assign(mine, mine + warps_);
  ++mine[warp];
}

std::optional<Conflict> Races::earlier_write(const std::uint32_t* cell, const Accessor& by, Touch how, bool is_global) {
  if (is_strong(how) && (cell[flags] & strong_write_flag) != 0) return std::nullopt;
  const auto line = static_cast<int>(cell[write_line]);
  const std::uint32_t* const known = clock_of(by.warp);
  if (cell[write_block] == block_ && cell[write_warp] == by.warp) {
    const bool ordered = (cell[write_lanes] >> by.lane & 1) != 0 || cell[write_clock] < known[by.warp] ||
                         cell[write_instruction] == instruction_;
    return ordered ? std::nullopt
                   : std::optional(Conflict{true, false, by.warp, std::countr_zero(cell[write_lanes]), line});
  }
  if (cell[write_block] == block_) {
    const bool ordered = known[cell[write_warp]] >= cell[write_clock];
    return ordered ? std::nullopt : std::optional(Conflict{true, false, cell[write_warp], -1, line});
  }
  if (!is_global || cell[write_block] == 0 || ordered_) return std::nullopt;
  return Conflict{true, true, cell[write_warp], -1, line};
}

std::optional<Conflict> Races::earlier_read(const std::uint32_t* cell, const Accessor& by, Touch how, bool is_global) {
  const auto line = static_cast<int>(cell[read_line]);
  const bool elsewhere = cell[read_block] != block_ && cell[read_block] != 0;
  if (is_strong(how) && (cell[flags] & strong_read_flag) != 0) return std::nullopt;
  if (is_global && !ordered_ && (elsewhere || (cell[flags] & other_blocks_read) != 0))
    return Conflict{false, true, 0, -1, line};
  if (cell[read_block] != block_) return std::nullopt;
  const std::uint32_t* const known = clock_of(by.warp);
  for (std::uint32_t other = 0; other < warps_; ++other) {
    if (other != by.warp && cell[reads + other] > known[other]) return Conflict{false, false, other, -1, line};
  }
  const std::uint32_t others = cell[read_lanes] & ~(1U << by.lane);
  const bool by_lanes = cell[read_warp] == by.warp && cell[reads + by.warp] == known[by.warp] && others != 0 &&
                        !is_strong(how) && cell[read_instruction] != instruction_;
  return by_lanes ? std::optional(Conflict{false, false, by.warp, std::countr_zero(others), line}) : std::nullopt;
}

void Races::note_read(std::uint32_t* cell, const Accessor& by) {
  if (cell[read_block] != block_) {
    cell[flags] |= cell[read_block] != 0 ? other_blocks_read : 0;
    std::fill_n(cell + reads, warps_, 0);
    cell[read_block] = block_;
  }
  const std::uint32_t now = clock_of(by.warp)[by.warp];
  if (cell[read_warp] != by.warp || cell[reads + by.warp] != now) cell[read_lanes] = 0;
  cell[reads + by.warp] = now;
  cell[read_warp] = by.warp;
  cell[read_lanes] |= 1U << by.lane;
  cell[read_line] = static_cast<std::uint32_t>(by.line);
  cell[read_instruction] = instruction_;
}

void Races::note_write(std::uint32_t* cell, const Accessor& by, Touch how) {
  cell[write_lanes] = (is_of_this_instruction(cell, by) ? cell[write_lanes] : 0) | 1U << by.lane;
  cell[write_block] = block_;
  cell[write_clock] = clock_of(by.warp)[by.warp];
  cell[write_warp] = by.warp;
  cell[write_line] = static_cast<std::uint32_t>(by.line);
  cell[write_instruction] = instruction_;
  cell[flags] = is_strong(how) ? strong_write_flag : 0;
  cell[read_block] = 0;
}

std::optional<Conflict> Races::touch(std::uint32_t* cell, const Accessor& by, Touch how, bool is_global) {
  std::optional<Conflict> found = earlier_write(cell, by, how, is_global);
  if (how == Touch::same) {
    // A look at what is there; over what another thread has just written it is the thread's own from now on.
    found || is_of_this_instruction(cell, by) ? note_write(cell, by, how) : note_read(cell, by);
    return std::nullopt;
  }
  if (is_write(how)) {
    if (!found) found = earlier_read(cell, by, how, is_global);
    note_write(cell, by, how);
  } else {
    note_read(cell, by);
    cell[flags] |= is_strong(how) ? strong_read_flag : 0;
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
