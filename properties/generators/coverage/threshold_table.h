// Whether a default report draws both sides of every threshold of every kernel (kernels/thresholds.h): one size less, the size
// and one more, in a case that the kernel takes, or beyond its limit refuses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flashproof {

/// One kernel, one threshold, one of its formats.
struct ThresholdSides {
  std::string kernel, dimension, what, format;
  std::int64_t value = 0;
  enum Side : std::uint8_t { missing, taken, refused } sides[3] = {};  // value - 1, value, value + 1

  /// The size and the one below are taken; the one above is taken, or refused.
  bool reached() const { return sides[0] == taken && sides[1] == taken && sides[2] != missing; }
};

/// Of every kernel but the seeded faults. `left_out`: without that family.
std::vector<ThresholdSides> default_thresholds(std::string_view left_out = {});
/// A line per kernel and threshold: -, = and + for the sides that are taken, ! for a limit, . for what is missing.
std::string threshold_text(const std::vector<ThresholdSides>& table);

}  // namespace flashproof
