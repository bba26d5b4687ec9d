// Inputs between wide margins of 0xff. A seeded fault has them in every run, so that one that reads beside its input reads
// the same NaN (−1 among the integers) each time; any kernel has them under RunOptions::guard_inputs, where what it writes
// to an input or beside one is found.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <vector>

#include "kernels/run/run.h"

namespace flashproof {

class MarginCopies {
 public:
  /// Good as long as this object lives.
  const void* place(const void* data, std::size_t bytes) {
    Copy& copy = copies_.emplace_back(data, bytes, std::vector<std::byte>(bytes + 2 * kMargin, kPattern));
    if (bytes > 0) std::memcpy(copy.bytes.data() + kMargin, data, bytes);
    return copy.bytes.data() + kMargin;
  }

  /// Throws KernelFault if a copy or its margins are not what they were.
  void finish() const {
    const auto intact = [](std::byte b) { return b == kPattern; };
    for (const Copy& copy : copies_) {
      const auto* begin = copy.bytes.data();
      const auto* end = begin + kMargin + copy.size;
      if (!std::all_of(begin, begin + kMargin, intact) || !std::all_of(end, end + kMargin, intact)) {
        throw KernelFault("the kernel wrote beside an input");
      }
      if (copy.size > 0 && std::memcmp(begin + kMargin, copy.source, copy.size) != 0) {
        throw KernelFault("the kernel wrote to an input");
      }
    }
  }

 private:
  static constexpr std::size_t kMargin = std::size_t{1} << 16;  // a multiple of every alignment
  static constexpr std::byte kPattern{0xff};
  struct Copy {
    const void* source;
    std::size_t size;
    std::vector<std::byte> bytes;
  };
  std::deque<Copy> copies_;
};

}  // namespace flashproof
