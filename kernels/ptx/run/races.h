// Races: two accesses of the same bytes by different threads, at least one of them a write, that no barrier and no atomic orders (PTX ISA,
// "Memory Consistency Model": conflicting operations that are not morally strong). Between warps by vector clocks, as FastTrack keeps
// them (Flanagan and Freund, PLDI 2009). Between the lanes of a warp, which run independently since sm_70: a collective orders all that
// its warp did before and after, the others of its mask or not; one instruction of several lanes is no race. Blocks of a grid are
// ordered by nothing but atomics beside fences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace flashproof::ptx {

/// same: a plain write of what is there, which is no race. strong: an atomic, or an access that says volatile, relaxed, acquire or
/// release. Two of them are no race.
enum class Touch : std::uint8_t { read, write, same, strong_read, strong_write };

/// The earlier access of a race.
struct Conflict {
  bool wrote;
  bool in_other_block;
  std::uint32_t warp;  // of this block; of reads one of them
  int lane;            // of the same warp; -1: of another
  int line;
};

/// Who accesses, and from which line.
struct Accessor {
  std::uint32_t warp;
  int lane, line;
};

class Races {
 public:
  /// `granule`: bytes that every access is a multiple of and aligned to. `fences`: whether the code has one; without it strong
  /// accesses order nothing but themselves.
  void prepare(std::size_t warps, std::uint64_t granule, std::uint64_t shared_bytes, bool fences);
  void begin_block();
  /// An instruction of a warp: what its lanes access is no race among them.
  void begin_instruction() { ++instruction_; }
  /// A collective: what this warp did before is ordered before what it does from now on.
  void order_lanes(std::uint32_t warp) { ++clock_of(warp)[warp]; }
  /// These warps have come to a barrier.
  void meet(std::span<const std::uint32_t> warps);
  /// A strong access: with fences it orders its warp behind those that came to the same address before, and those that come after.
  void order(std::uint32_t warp, std::uint64_t address, bool is_shared);

  /// The access is recorded whether or not it is a race. shared: an offset in the block's shared memory.
  std::optional<Conflict> shared(const Accessor& by, std::uint64_t offset, std::uint64_t bytes, Touch how);
  std::optional<Conflict> global(const Accessor& by, std::uint64_t address, std::uint64_t bytes, Touch how);

 private:
  /// Numbers of one granule: those below, then the clock of each warp's last read. write_lanes: of the instruction that wrote last;
  /// read_lanes: of read_warp, since its last collective.
  enum Field : std::uint8_t {
    write_block,
    write_clock,
    write_warp,
    write_lanes,
    write_line,
    write_instruction,
    read_block,
    read_warp,
    read_lanes,
    read_line,
    read_instruction,
    flags,
    reads
  };
  enum Flag : std::uint8_t { strong_write_flag = 1, other_blocks_read = 2, strong_read_flag = 4 };
  struct Strong {
    std::uint32_t block = 0;
    std::vector<std::uint32_t> clock = {};
  };

  std::uint32_t* clock_of(std::uint32_t warp) { return clocks_.data() + warp * warps_; }
  /// Null where so much memory is accessed that there is no room to remember by whom.
  std::uint32_t* cell_of(std::uint64_t address);
  std::optional<Conflict> touch(std::uint32_t* cell, const Accessor& by, Touch how, bool is_global);
  std::optional<Conflict> earlier_write(const std::uint32_t* cell, const Accessor& by, Touch how, bool is_global);
  std::optional<Conflict> earlier_read(const std::uint32_t* cell, const Accessor& by, Touch how, bool is_global);
  void note_read(std::uint32_t* cell, const Accessor& by);
  void note_write(std::uint32_t* cell, const Accessor& by, Touch how);
  bool is_of_this_instruction(const std::uint32_t* cell, const Accessor& by) const {
    return cell[write_block] == block_ && cell[write_warp] == by.warp && cell[write_instruction] == instruction_;
  }

  std::size_t warps_ = 0, stride_ = 0;
  std::uint64_t granule_ = 1;
  bool fences_ = false, ordered_ = false;  // ordered_: this block is ordered behind others
  std::uint32_t block_ = 0;                // of the grid, from 1 on
  std::uint32_t instruction_ = 0;
  std::vector<std::uint32_t> clocks_;  // [warp][warp]: what the first knows of the second
  std::vector<std::uint32_t> shared_;
  std::unordered_map<std::uint64_t, std::unique_ptr<std::uint32_t[]>> pages_;  // of global memory
  std::uint64_t last_page_ = ~0ULL;
  std::uint32_t* last_cells_ = nullptr;
  std::unordered_map<std::uint64_t, Strong> strong_;  // by address
};

}  // namespace flashproof::ptx
