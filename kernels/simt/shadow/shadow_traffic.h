// Counts what kernels load from and store to watched memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/simt/shadow/shadow.h"
#include "kernels/simt/shadow/shadow_places.h"

namespace flashproof::simt {

class TrafficCount {
 public:
  /// Returns the counter's number.
  int add(std::string name, std::size_t bytes, std::size_t element_bytes);
  /// An access of a thread of the running block; offset in bytes, within the range.
  void note(int counter, std::size_t offset, std::size_t bytes, bool store, unsigned thread, CodeOffset place);
  /// Merges what the block's threads did in one instruction: the same place in program and memory, each thread for the
  /// n-th time. A GPU makes such loads one request per warp, and the caches do the rest.
  void end_block();
  std::vector<Traffic> result() const;

 private:
  struct Counter {
    Traffic traffic;
    std::size_t element_bytes;
    std::vector<bool> loaded, stored;
  };
  struct Event {
    std::uint64_t element;
    CodeOffset place;
    std::uint16_t counter;
    std::uint16_t thread_and_store;  // thread · 2 + store
    auto operator<=>(const Event&) const = default;
  };
  std::vector<Counter> counters_;
  std::vector<Event> events_;  // of the running block
};

}  // namespace flashproof::simt
