#include "kernels/simt/storage.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace flashproof {
namespace {

using cpu::load;
using cpu::store;

template <Format F>
std::uint32_t stored(float value) {
  std::uint32_t bits = 0;
  store<F>(&bits, 0, value);
  return bits;
}

template <Format F>
void expect_every_pattern_loads_as_decoded() {
  for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    const float value = load<F>(&bits, 0);
    const double expected = decode(F, bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << pattern;
      ASSERT_EQ(stored<F>(value), nan_bits(F)) << pattern;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint64_t>(static_cast<double>(value)), std::bit_cast<std::uint64_t>(expected));
      ASSERT_EQ(stored<F>(value), pattern);
    }
  }
}

TEST(Storage, LoadIsDecodeForEveryPattern) {
  expect_every_pattern_loads_as_decoded<Format::f16>();
  expect_every_pattern_loads_as_decoded<Format::bf16>();
}

// Rounding to nearest is a step function of the magnitude; its steps are at the midpoints of neighbouring values (for
// the last value: where its successor, had the format one, would be halfway). Each midpoint is an f32, and at each the
// float itself and both neighbours are compared with encode.
template <Format F>
void expect_rounding_at_every_boundary() {
  const auto last = static_cast<std::uint32_t>(max_finite_bits(F));
  for (std::uint32_t pattern = 0; pattern <= last; ++pattern) {
    const double below = decode(F, pattern);
    const double above = pattern < last ? decode(F, pattern + 1) : 2 * below - decode(F, last - 1);
    const auto midpoint = static_cast<float>((below + above) / 2);
    ASSERT_EQ(static_cast<double>(midpoint), (below + above) / 2);
    for (const float x : {std::nextafter(midpoint, 0.0f), midpoint, std::nextafter(midpoint, HUGE_VALF)}) {
      ASSERT_EQ(stored<F>(x), encode(F, x)) << pattern;
      ASSERT_EQ(stored<F>(-x), encode(F, -x)) << pattern;
    }
  }
}

TEST(Storage, StoreIsEncodeAtEveryRoundingBoundary) {
  expect_rounding_at_every_boundary<Format::f16>();
  expect_rounding_at_every_boundary<Format::bf16>();
}

TEST(Storage, NegativeFloatsStoreAsTheirMagnitudeWithASign) {
  for (std::uint32_t pattern = 0; pattern <= 0x7f800000; pattern += 1021) {
    const float x = std::bit_cast<float>(pattern);
    ASSERT_EQ(stored<Format::f16>(-x), stored<Format::f16>(x) | 0x8000u);
    ASSERT_EQ(stored<Format::bf16>(-x), stored<Format::bf16>(x) | 0x8000u);
  }
}

TEST(Storage, NanIsStoredCanonically) {
  for (const std::uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xff800001u, 0x7fffffffu, 0xffffffffu}) {
    const float nan = std::bit_cast<float>(bits);
    EXPECT_EQ(stored<Format::f32>(nan), 0x7fffffffu);
    EXPECT_EQ(stored<Format::f16>(nan), 0x7fffu);
    EXPECT_EQ(stored<Format::bf16>(nan), 0x7fffu);
  }
  EXPECT_EQ(nan_bits(Format::f32), 0x7fffffffu);
}

TEST(Storage, F32KeepsEveryOtherBitPattern) {
  for (const std::uint32_t bits :
       {0u, 0x80000000u, 1u, 0x80000001u, 0x007fffffu, 0x7f7fffffu, 0x7f800000u, 0xff800000u}) {
    EXPECT_EQ(stored<Format::f32>(std::bit_cast<float>(bits)), bits);
    EXPECT_EQ(std::bit_cast<std::uint32_t>(load<Format::f32>(&bits, 0)), bits);
  }
}

TEST(Storage, IndexCountsElements) {
  std::vector<std::uint16_t> half(4, 0);
  store<Format::f16>(half.data(), 2, 1.5f);
  EXPECT_EQ(half, (std::vector<std::uint16_t>{0, 0, 0x3e00, 0}));
  EXPECT_EQ(load<Format::f16>(half.data(), 2), 1.5f);
  std::vector<float> single(4, 0);
  store<Format::f32>(single.data() + 3, -1, 7.0f);
  EXPECT_EQ(single, (std::vector<float>{0, 0, 7, 0}));
}

TEST(DispatchFormat, PassesTheFormatAsAConstant) {
  for (const Format format : {Format::f32, Format::f16, Format::bf16}) {
    const Format seen = dispatch_format(format, []<Format F>() {
      static_assert(kIsStorageFormat<F>);
      return F;
    });
    EXPECT_EQ(seen, format);
  }
}

TEST(DispatchFormat, NamesTheFormatsItTakes) {
  for (const Format format : {Format::f64, Format::e4m3fn, Format::e5m2}) {
    try {
      dispatch_format(format, []<Format F>() { return static_cast<int>(F); });
      FAIL() << "must throw";
    } catch (const UsageError& error) {
      EXPECT_EQ(error.what(), "format: kernels store f32, f16 or bf16, not " + std::string(info(format).name));
    }
  }
}

}  // namespace
}  // namespace flashproof
