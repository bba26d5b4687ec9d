// One access of a warp: where its lanes' addresses lie, and the findings where they lie nowhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "kernels/ptx/run/runtime_state.h"

namespace flashproof::ptx {

/// Lane l's bytes lie at address + offset + l * stride of the host.
struct Mapping {
  std::uint64_t offset = 0, stride = 0;
};

/// The addresses of a warp's lanes, those of lanes that are not here replaced by one of a lane that is.
struct Addresses {
  alignas(64) std::uint64_t at[kLanes];
  std::uint64_t joined = 0;  // every bit that one has
  bool contiguous = false;   // lane l's bytes lie behind lane l - 1's, and all lanes are here
  bool equal = false;

  /// `lanes`: not 0. `bytes` of each.
  Addresses(std::uint32_t lanes, const std::uint64_t* given, std::uint64_t bytes);
  /// Whether every lane's bytes lie in [low, high), which is as long as one lane's at least.
  bool lie_in(std::uint64_t low, std::uint64_t high, std::uint64_t bytes) const;
};

inline std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ value ^ hash >> 29) * 0x9e3779b97f4a7c15;
}

struct Access {
  Runtime& runtime;
  const Site& site;
  bool write;
  std::uint64_t bytes;          // of a lane
  std::uint64_t align = bytes;  // what its address is a multiple of

  /// Where the lane's bytes lie; null after a finding.
  std::byte* place(std::uint64_t address, int lane) const;
  /// If all lanes may access their bytes, in one way; else ask lane by lane. Whether shared memory was written is not asked.
  std::optional<Mapping> map(const Addresses& addresses) const;
  /// Before the access is made: a finding if it races with an earlier one. `values`: what a plain store brings, [element][lane]; one that
  /// changes nothing counts as a read that is no race.
  void watch(std::uint32_t lanes, const std::uint64_t* addresses, Touch how, const void* values = nullptr) const;

 private:
  std::byte* outside(std::uint64_t address, int lane, Space space, std::uint64_t size) const;
  std::byte* shared(std::uint64_t address, int lane) const;
  std::byte* local(std::uint64_t address, int lane) const;
  std::string text(std::uint64_t address) const;
  std::string near(std::uint64_t address) const;
};

/// The same of an asynchronous operation, of bytes that are there; what orders it begin_async() has said. shared: an offset. True: a finding.
bool watch_async(Runtime& runtime, int line, int lane, bool is_shared, std::uint64_t address, std::uint64_t bytes,
                 Touch how);

/// `bytes` of each lane; 0: as many as the site says.
Access access_of(Context* context, std::uint32_t site, bool write, std::uint64_t bytes = 0);

}  // namespace flashproof::ptx
