// The check itself: every access against what its granules remember.

#include <algorithm>
#include <bit>
#include <utility>

#include "kernels/simt/shadow/shadow_state.h"
#include "reference/system/error.h"

namespace flashproof::simt {

namespace {

Cell& fresh(Range& range, std::size_t granule, std::vector<std::uint32_t>& free_lanes) {
  Cell& cell = range.cells[granule];
  if (cell.epoch != range.epoch) {
    if (cell.lanes != 0) free_lanes.push_back(cell.lanes - 1);
    cell = Cell{};
    cell.epoch = range.epoch;
  }
  return cell;
}

}  // namespace

Range* Shadow::find(std::uintptr_t address) {
  if (last_ != nullptr && address - last_->base < last_->bytes) return last_;
  const auto after = std::ranges::upper_bound(ranges_, address, {}, [](const auto& range) { return range->base; });
  if (after == ranges_.begin()) return nullptr;
  Range* const range = std::prev(after)->get();
  if (address - range->base >= range->bytes) return nullptr;
  return last_ = range;
}

bool Shadow::access_of(const Thread& thread, std::uintptr_t address, std::size_t bytes, AccessKind kind,
                       const void* pc) {
  Range* const range = find(address);
  if (range == nullptr || bytes == 0) return false;
  ++accesses_;
  const std::size_t offset = address - range->base;
  bytes = std::min(bytes, range->bytes - offset);
  const CodeOffset place = place_of(pc);
  if (options_.traffic && range->counter >= 0) {
    if (kind == AccessKind::read || kind == AccessKind::atomic) {
      traffic_.note(range->counter, offset, bytes, false, thread.number, place);
    }
    if (kind != AccessKind::read) traffic_.note(range->counter, offset, bytes, true, thread.number, place);
  }
  if (!options_.races) return true;
  const ThreadId self = static_cast<ThreadId>(blocks_.size() - 1) << kThreadBits | thread.number;
  const Mark mark{self, kind == AccessKind::copy ? kUnderWay : clock_.now(), place};
  if (range->input) {
    if (kind != AccessKind::read) report(*range, offset, {}, nullptr, mark, "writes");
    return true;
  }
  const unsigned aligned = static_cast<unsigned>(std::countr_zero(offset | bytes));
  if (aligned < range->shift) refine(*range, aligned);
  if (range->cells.empty()) range->cells.resize(((range->bytes - 1) >> range->shift) + 1);
  const std::size_t end = ((offset + bytes - 1) >> range->shift) + 1;
  for (std::size_t granule = offset >> range->shift; granule < end; ++granule) check(*range, granule, kind, mark);
  if (kind == AccessKind::copy) copies_[thread.number].open.push_back({address, bytes});
  return true;
}

/// Smaller granules, each with the history of the one that it was a part of.
void Shadow::refine(Range& range, unsigned shift) {
  const unsigned parts = 1u << (range.shift - shift);
  std::vector<Cell> cells;
  if (!range.cells.empty()) {
    cells.reserve(range.cells.size() * parts);
    for (const Cell& cell : range.cells) {
      for (unsigned part = 0; part < parts; ++part) {
        cells.push_back(cell);
        if (cell.lanes == 0 || part == 0) continue;
        lanes_.push_back(LaneReads(lanes_[cell.lanes - 1]));
        cells.back().lanes = static_cast<std::uint32_t>(lanes_.size());
      }
    }
    cells.resize(((range.bytes - 1) >> shift) + 1);
  }
  range.cells = std::move(cells);
  std::unordered_map<std::size_t, AtomicCell> atomics;
  for (const auto& [granule, cell] : range.atomics) {
    for (unsigned part = 0; part < parts; ++part) atomics.emplace(granule * parts + part, cell);
  }
  range.atomics = std::move(atomics);
  range.shift = shift;
}

void Shadow::check_against(const Range& range, std::size_t granule, const Mark& earlier, const char* earlier_did,
                           const Mark& now, const char* now_does) {
  if (earlier.stamp == kNever || clock_.ordered(earlier.who, earlier.stamp, now.who)) return;
  report(range, granule << range.shift, earlier, earlier_did, now, now_does);
}

void Shadow::check(Range& range, std::size_t granule, AccessKind kind, const Mark& mark) {
  Cell& cell = fresh(range, granule, free_lanes_);
  const auto same = [&](const Mark& m) { return m.who == mark.who && m.stamp == mark.stamp; };
  const char* const does = kind == AccessKind::read     ? "reads"
                           : kind == AccessKind::atomic ? "changes (atomic)"
                           : kind == AccessKind::copy   ? "copies (asynchronously)"
                                                        : "writes";
  const char* const wrote = cell.write.stamp == kUnderWay ? "is copying (asynchronously, not waited for)" : "wrote";
  if (!range.atomics.empty()) check_atomics(range, granule, kind, mark);
  if (kind == AccessKind::read) {
    if (same(cell.first) || same(cell.other)) return;
    check_against(range, granule, cell.write, wrote, mark, does);
    note_reader(cell, mark);
    return;
  }
  check_against(range, granule, cell.write, wrote, mark, does);
  check_against(range, granule, cell.first, "read", mark, does);
  check_against(range, granule, cell.other, "read", mark, does);
  if (cell.lanes != 0) {
    for (const Mark& lane : lanes_[cell.lanes - 1].lane) check_against(range, granule, lane, "read", mark, does);
  }
  if (kind == AccessKind::atomic) {
    AtomicCell& atomic = range.atomics[granule];
    std::erase_if(atomic.marks, [&](const Mark& m) { return clock_.ordered(m.who, m.stamp, mark.who); });
    atomic.marks.push_back(mark);
    clock_.atomic(number_of(mark.who), atomic.released);
    return;
  }
  cell.write = mark;
  cell.first = cell.other = Mark{};
  release_lanes(cell);
}

/// Plain accesses against atomics; an atomic has nothing to fear here.
void Shadow::check_atomics(Range& range, std::size_t granule, AccessKind kind, const Mark& mark) {
  if (kind == AccessKind::atomic) return;
  const auto found = range.atomics.find(granule);
  if (found == range.atomics.end()) return;
  for (const Mark& m : found->second.marks) {
    check_against(range, granule, m, "changed (atomic)", mark, kind == AccessKind::read ? "reads" : "writes");
  }
  if (kind != AccessKind::read) range.atomics.erase(found);
}

void Shadow::release_lanes(Cell& cell) {
  if (cell.lanes != 0) free_lanes_.push_back(cell.lanes - 1);
  cell.lanes = 0;
}

void Shadow::note_reader(Cell& cell, const Mark& mark) {
  const auto forgettable = [&](const Mark& m) { return m.stamp == kNever || clock_.ordered(m.who, m.stamp, mark.who); };
  if (cell.lanes == 0 && forgettable(cell.first)) {
    cell.first = mark;
    return;
  }
  if (same_warp(cell.first.who, mark.who)) {
    if (cell.lanes == 0) {
      if (free_lanes_.empty()) {
        free_lanes_.push_back(static_cast<std::uint32_t>(lanes_.size()));
        lanes_.emplace_back();
      }
      cell.lanes = free_lanes_.back() + 1;
      free_lanes_.pop_back();
      lanes_[cell.lanes - 1] = LaneReads{};
      lanes_[cell.lanes - 1].lane[cell.first.who % kLanes] = cell.first;
    }
    std::array<Mark, kLanes>& lanes = lanes_[cell.lanes - 1].lane;
    if (std::ranges::all_of(lanes, forgettable)) {
      release_lanes(cell);
      cell.first = mark;
      return;
    }
    lanes[mark.who % kLanes] = mark;
    return;
  }
  if (cell.lanes != 0 && std::ranges::all_of(lanes_[cell.lanes - 1].lane, forgettable)) {
    release_lanes(cell);
    cell.first = mark;
    return;
  }
  if (forgettable(cell.other)) cell.other = mark;
}

void Shadow::commit_copies() {
  Copies& copies = copies_[block.current->number];
  copies.groups.push_back(std::exchange(copies.open, {}));
}

void Shadow::wait_for_copies(std::size_t pending, bool also_uncommitted) {
  Copies& copies = copies_[block.current->number];
  while (copies.groups.size() > pending) {
    complete(copies.groups.front());
    copies.groups.erase(copies.groups.begin());
  }
  if (also_uncommitted) complete(std::exchange(copies.open, {}));
}

void Shadow::complete(const std::vector<Copy>& copies) {
  const ThreadId self = static_cast<ThreadId>(blocks_.size() - 1) << kThreadBits | block.current->number;
  for (const Copy& copy : copies) {
    Range* const range = find(copy.address);
    if (range == nullptr || range->cells.empty()) continue;
    const std::size_t offset = copy.address - range->base;
    for (std::size_t granule = offset >> range->shift; granule <= (offset + copy.bytes - 1) >> range->shift;
         ++granule) {
      Mark& write = range->cells[granule].write;
      if (write.who == self && write.stamp == kUnderWay) write.stamp = clock_.now();
    }
  }
}

}  // namespace flashproof::simt
