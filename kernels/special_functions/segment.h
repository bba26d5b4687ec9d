// The interpolator that all of a GPU's special functions go through (Oberman and Siu, ARITH 17, 2005): the upper bits of
// the reduced argument choose a segment, the lower ones, x of 16 or 17 bits, enter a quadratic
//
//   R = (a + b·x + c·square(x)) >> s,   floored.
//
// Only the square is not exact: its partial products below the column 2^18 are left out.
#pragma once

#include <array>
#include <cstdint>

#if defined(__CUDACC__)
#define FP_BOTH __host__ __device__
#else
#define FP_BOTH
#endif

namespace flashproof::special {

/// One row of a table. `a` holds the rounding constant, too.
struct Segment {
  std::int64_t a;
  std::int32_t b, c;
};

/// Σ of the partial products 2^i·2^j of x² with i + j >= 18, over 2^19: about x²/2^19. x < 2^17. The definition, row by
/// row: bit i of x selects x >> (18 − i).
FP_BOTH constexpr std::uint32_t square_by_rows(std::uint32_t x) {
  std::uint32_t sum = 0;
  for (int i = 1; i < 17; ++i) sum += (x >> (18 - i)) & (0U - (x >> i & 1U));
  return sum >> 1;
}

// With x = high·2^9 + low, the products within `high` all stay, those within `low` all go, and of the mixed ones, which
// come in pairs, those with bits i of low and j of high, i + j >= 9, stay: square = floor(high²/2) + mixed(low, high).
// The upper four bits of both keep all their mixed products; two small tables hold what the other bits add.
namespace mixed {

constexpr std::uint8_t kept(std::uint32_t low, std::uint32_t high) {
  std::uint32_t sum = 0;
  for (int i = 0; i < 9; ++i) {
    for (int j = 0; j < 8; ++j) {
      if (i + j >= 9) sum += (low >> i & high >> j & 1U) << (i + j - 9);
    }
  }
  return static_cast<std::uint8_t>(sum);
}

/// Bits 0 to 4 of low with bits 4 to 7 of high.
inline constexpr auto kLowerLow = [] {
  std::array<std::uint8_t, 512> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) table[i] = kept(i & 31U, (i >> 5) << 4);
  return table;
}();
/// Bits 5 to 8 of low with bits 0 to 3 of high.
inline constexpr auto kLowerHigh = [] {
  std::array<std::uint8_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) table[i] = kept((i & 15U) << 5, i >> 4);
  return table;
}();

}  // namespace mixed

/// square_by_rows, faster on a CPU; every x of 17 bits is compared in the test.
FP_BOTH inline std::uint32_t square(std::uint32_t x) {
#if defined(__CUDA_ARCH__)
  return square_by_rows(x);
#else
  const std::uint32_t high = x >> 9, low = x & 511U;
  return (high * high >> 1) + (high >> 4) * (low >> 5) + mixed::kLowerLow[(high >> 4) << 5 | (low & 31U)] +
         mixed::kLowerHigh[(high & 15U) << 4 | low >> 5];
#endif
}

/// The quadratic before its shift. `squared`: square of x, or of 2x where x has 16 bits.
FP_BOTH inline std::int64_t interpolate(const Segment& segment, std::uint32_t x, std::uint32_t squared) {
  return segment.a + std::int64_t{segment.b} * x + std::int64_t{segment.c} * squared;
}

}  // namespace flashproof::special
