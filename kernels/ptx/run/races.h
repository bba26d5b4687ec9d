// Races: two accesses of the same bytes by different threads, at least one of them a write, that nothing orders (PTX ISA, "Memory
// Consistency Model": conflicting operations that are not morally strong; what orders is order.h). Between warps by clocks, as FastTrack
// keeps them (Flanagan and Freund, PLDI 2009). Between the lanes of a warp, which run independently since sm_70: a collective orders all
// that its warp did before and after, the others of its mask or not; one instruction of several lanes is no race.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "kernels/ptx/run/order.h"

namespace flashproof::ptx {

/// same: a plain write of what is there, which is no race. strong: an atomic, or an access that says volatile, relaxed, acquire or
/// release. Two of them are no race where the scope of each includes the other's thread.
enum class Touch : std::uint8_t { read, write, same, strong_read, strong_write };

/// The earlier access of a race.
struct Conflict {
  bool wrote;
  bool in_other_block;
  bool too_narrow;     // both are strong, and of scope .cta in two blocks
  bool unproxied;      // it is ordered, but no fence.proxy.async makes it visible to an asynchronous read
  std::uint32_t warp;  // of this block; of reads one of them
  int lane;            // of the same warp; -1: of another
  int line;
};

/// Who accesses, and from which line.
struct Accessor {
  std::uint32_t warp;
  int lane, line;
  bool is_wide = true;    // of scope .gpu or .sys
  bool is_async = false;  // the agent of asynchronous operations, whose lane is 0
};

class Races {
 public:
  /// `granule`: bytes that every access is a multiple of and aligned to. `fences`: see Order.
  /// Of a launch; the first block's room comes by new_block().
  void prepare(std::size_t warps, std::uint64_t granule, std::uint64_t shared_bytes, bool fences, bool async);
  /// What one block of the grid has of its own.
  struct Block {
    Order::Block order;
    std::vector<std::uint32_t> shared;
  };
  Block new_block() const { return {{}, std::vector<std::uint32_t>(shared_cells_ * stride_)}; }
  void exchange(Block& other) {
    order.exchange(other.order);
    shared_.swap(other.shared);
  }
  /// An instruction of a warp: what its lanes access is no race among them.
  void begin_instruction() { ++instruction_; }
  /// Whether what was last written there was written by an atomic or a strong store.
  bool is_strong(std::uint64_t address, bool is_shared);

  /// The access is recorded whether or not it is a race. shared: an offset in the block's shared memory.
  std::optional<Conflict> shared(const Accessor& by, std::uint64_t offset, std::uint64_t bytes, Touch how);
  std::optional<Conflict> global(const Accessor& by, std::uint64_t address, std::uint64_t bytes, Touch how);

  Order order;

 private:
  /// Numbers of one granule: those below, then the clock of each warp's last read. write_lanes: of the instruction that wrote last;
  /// read_lanes: of read_warp, since its last collective. observed: by which warp's strong read, of what was written last.
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
    observed_block,
    observed_warp,
    flags,
    reads
  };
  enum Flag : std::uint8_t {
    strong_write = 1,
    narrow_write = 2,
    strong_read = 4,
    narrow_read = 8,
    other_blocks_read = 16
  };

  /// Null where so much memory is accessed that there is no room to remember by whom.
  std::uint32_t* cell_of(std::uint64_t address);
  std::optional<Conflict> touch(std::uint32_t* cell, const Accessor& by, Touch how, bool is_global);
  std::optional<Conflict> earlier_write(const std::uint32_t* cell, const Accessor& by, Touch how, bool is_global);
  std::optional<Conflict> earlier_read(const std::uint32_t* cell, const Accessor& by, Touch how, bool is_global);
  std::optional<Conflict> unproxied_write(const std::uint32_t* cell);
  std::optional<Conflict> read_elsewhere(const std::uint32_t* cell, const Accessor& by);
  void note_read(std::uint32_t* cell, const Accessor& by, Touch how);
  void note_write(std::uint32_t* cell, const Accessor& by, Touch how);
  bool is_of_this_instruction(const std::uint32_t* cell, const Accessor& by) const {
    return cell[write_block] == order.block() && cell[write_warp] == by.warp && cell[write_instruction] == instruction_;
  }

  std::size_t warps_ = 0, stride_ = 0, shared_cells_ = 0;
  std::uint64_t granule_ = 1;
  std::uint32_t instruction_ = 0;
  std::vector<std::uint32_t> shared_;
  std::unordered_map<std::uint64_t, std::unique_ptr<std::uint32_t[]>> pages_;  // of global memory
  std::uint64_t last_page_ = ~0ULL;
  std::uint32_t* last_cells_ = nullptr;
};

}  // namespace flashproof::ptx
