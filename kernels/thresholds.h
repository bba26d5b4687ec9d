// The sizes at which kernels take another path – a tile, a vector, a part, a limit – read from their own headers, so that a
// test can ask whether inputs are drawn on both sides of each (properties/generators/coverage/threshold_table.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "reference/problem/formats.h"

namespace flashproof {

struct Threshold {
  std::string_view kernels;    // glob over ids
  std::string_view dimension;  // of a problem: properties/generators/coverage/dimensions.cc has the names
  std::int64_t value;          // the last size of the one path
  std::string_view what;
  std::optional<int> bits = {};  // only in storage formats of so many
};

/// Every kernel has one at least. Not here: what depends on several sizes at once, as the room for scores in shared memory.
std::span<const Threshold> thresholds();

}  // namespace flashproof
