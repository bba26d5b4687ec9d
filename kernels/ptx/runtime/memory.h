// The device's memory: what was allocated, and what an address is. Addresses are those of this process and never given twice, and
// between two allocations lie at least 64 KiB that nothing can touch, so that an access which misses one does not meet another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/ptx/run/launch.h"

namespace flashproof::cudart {

/// device: cudaMalloc. host: cudaMallocHost, cudaHostAlloc. managed: cudaMallocManaged. registered: the program's own memory, by
/// cudaHostRegister. variable: of a module.
enum class Place : std::uint8_t { device, host, managed, registered, variable };

struct Allocation {
  std::uint64_t low = 0, bytes = 0;
  Place place = Place::device;
  bool writable = true, live = true;
  std::string name;  // "allocation 3 of cudaMalloc"
  std::uint64_t high() const { return low + bytes; }
};

class Memory {
 public:
  explicit Memory(std::uint64_t most_bytes) : most_(most_bytes) {}

  /// Its bytes are 0xff, NaN as a float, up to 256 MiB; of more, 0. Throws Refused where there is no room. 0 bytes: null.
  void* allocate(std::uint64_t bytes, Place place);
  /// Memory that is there: the program's own, or a variable.
  void add(void* data, std::uint64_t bytes, Place place, bool writable, const std::string& name);
  /// What was allocated or added at exactly this address. Throws Refused, with words that say what the address is instead. Null: nothing to do.
  void release(void* data, bool of_host);
  void forget(const void* data);  // of add()
  void release_all();             // but variables

  /// The live allocation that holds all of these bytes, or null.
  const Allocation* holding(const void* data, std::uint64_t bytes) const;
  /// Is it in memory that only kernels and copies may touch?
  bool is_of_device(const void* data) const;
  /// All that kernels may touch.
  std::vector<ptx::Array> arrays() const;
  /// "memory of the host, which no CUDA call has allocated", "in allocation 3 of cudaMalloc, which was freed", or nothing.
  std::string words(std::uint64_t address) const;

  /// Whether this process may touch what cudaMalloc has given: only while a kernel or a copy runs, so that a program which follows a
  /// device's pointer itself is ended by a segmentation fault, as on a GPU.
  void open(bool is_open) const;

  std::uint64_t most() const { return most_; }
  std::uint64_t free() const { return most_ - used_; }

 private:
  const Allocation* at_or_below(std::uint64_t address) const;
  std::uint64_t take_addresses(std::uint64_t bytes);

  std::uint64_t most_, used_ = 0;
  std::uint64_t next_ = 0, end_ = 0;                 // of the addresses that are reserved
  std::map<std::uint64_t, std::uint64_t> reserved_;  // where each begins and ends
  std::uint64_t number_ = 0;                         // of the last allocation
  std::map<std::uint64_t, Allocation> all_;          // by address
};

/// The device's memory is open while this lives.
class Opened {
 public:
  explicit Opened(const Memory& memory) : memory_(memory) { memory_.open(true); }
  ~Opened() { memory_.open(false); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

 private:
  const Memory& memory_;
};

}  // namespace flashproof::cudart
