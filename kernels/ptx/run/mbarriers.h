// mbarrier objects of a block (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier"): kept beside shared memory,
// by their place in it, since an object's 8 bytes are opaque. They count as not written: a read of them is a finding, and so is the next
// operation after a write to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "kernels/ptx/run/order.h"

namespace flashproof::ptx {

struct Access;

struct Mbarrier {
  static constexpr std::uint32_t kMost = (1 << 20) - 1;  // arrivals, and bytes either way
  std::uint32_t expected = 0, pending = 0;               // arrivals of each phase; of this one those that are missing
  std::int64_t bytes = 0;                                // that are expected and have not come
  std::uint64_t phase = 0;
  std::uint32_t warp = 0, clock = 0;  // who has initialised it, and when
  int lane = 0, line = 0;
  Released arriving, completed;  // what those of this phase, and of those before it, have done

  /// What an arrival returns: the phase, and how many arrivals were missing.
  std::uint64_t state() const { return phase << 20 | pending; }
  /// Whether the phase that a state or a parity names is over.
  bool is_over(std::uint64_t given, bool by_parity) const {
    return by_parity ? (phase & 1) != (given & 1) : phase != given >> 20;
  }
  void go_on_if_complete();
};

class Mbarriers {
 public:
  static constexpr std::uint64_t kBytes = 8;

  void clear() { all_.clear(); }
  /// Where in shared memory the address is; nothing after a finding.
  static std::optional<std::uint64_t> offset(const Access& access, std::uint64_t address, int lane);
  /// The object there; null after a finding.
  Mbarrier* find(const Access& access, std::uint64_t offset, int lane);
  /// Null where there is none.
  Mbarrier* find(std::uint64_t offset);
  void init(const Access& access, std::uint64_t offset, std::uint64_t count, int lane);
  void invalidate(std::uint64_t offset) { all_.erase(offset); }
  /// "; the mbarrier at 0x10: phase 3, 1 of 2 arrivals and 8192 bytes are missing", a few of them; "" where there is none.
  std::string words() const;

 private:
  std::map<std::uint64_t, Mbarrier> all_;
};

}  // namespace flashproof::ptx
