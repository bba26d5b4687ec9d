// fp8 conversions against decode and encode of formats.h: every byte, and every float around every rounding decision.
#include "kernels/simt/fp8.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "kernels/simt/storage.h"

namespace flashproof::cpu {
namespace {

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

template <Format F>
void expect_bytes_are_exact() {
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    const auto expected = static_cast<float>(decode(F, byte));
    const float value = from_fp8<F>(static_cast<std::uint8_t>(byte));
    const std::uint8_t stored[] = {0, static_cast<std::uint8_t>(byte)};
    const std::uint32_t halves = fp8x2_to_f16x2<F>(static_cast<std::uint16_t>(byte | (byte ^ 1) << 8));
    EXPECT_EQ(halves & 0xffff, encode(Format::f16, decode(F, byte))) << byte;
    EXPECT_EQ(halves >> 16, encode(Format::f16, decode(F, byte ^ 1))) << byte;
    if (std::isnan(expected)) {
      EXPECT_EQ(bits_of(value), 0x7fffffffU) << byte;
      EXPECT_TRUE(std::isnan((load<F>(stored, 1))));
    } else {
      EXPECT_EQ(bits_of(value), bits_of(expected)) << byte;
      EXPECT_EQ(bits_of(load<F>(stored, 1)), bits_of(expected)) << byte;
    }
  }
}

template <Format F>
void expect_rounds_as_encode() {
  // Every upper half of a pattern, with low halves around a tie: all decisions lie there.
  std::uint64_t saturated = 0;
  for (std::uint32_t high = 0; high < 0x10000; ++high) {
    for (const std::uint32_t low : {0x0000U, 0x0001U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      const auto x = std::bit_cast<float>(high << 16 | low);
      const std::uint64_t expected = encode(F, x, Overflow::saturate);
      ASSERT_EQ(to_fp8<F>(x), expected) << std::hex << (high << 16 | low);
      ASSERT_EQ(to_fp8x2<F>(x, -1.0F), expected | encode(F, -1.0) << 8);
      saturated += std::isinf(x) || std::fabs(x) > 2 * info(F).max_finite;
    }
  }
  EXPECT_GT(saturated, 100000U);
}

TEST(Fp8, every_byte_is_read_exactly) {
  expect_bytes_are_exact<Format::e4m3fn>();
  expect_bytes_are_exact<Format::e5m2>();
}

TEST(Fp8, rounds_to_nearest_and_saturates) {
  expect_rounds_as_encode<Format::e4m3fn>();
  expect_rounds_as_encode<Format::e5m2>();
  EXPECT_EQ(to_fp8<Format::e4m3fn>(464.0F), 0x7e);  // ieee rounding would make it NaN
  EXPECT_EQ(to_fp8<Format::e4m3fn>(0x1p-10F), 0);   // a tie with 0
  EXPECT_EQ(to_fp8<Format::e4m3fn>(0x1.8p-9F), 2);  // a tie between 1 and 2 units
}

}  // namespace
}  // namespace flashproof::cpu
