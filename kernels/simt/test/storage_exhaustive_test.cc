// The other half of the proof that store<F> is encode for every float; storage_test.cc has the rounding boundaries.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>

#include "kernels/simt/storage.h"

namespace flashproof {
namespace {

template <Format F>
std::uint32_t stored(float value) {
  std::uint32_t bits = 0;
  cpu::store<F>(&bits, 0, value);
  return bits;
}

// Over all magnitudes in ascending order the stored bits climb in steps of 1. storage_test.cc shows on which float each
// step must lie, by comparing both sides of every midpoint with encode; so between the steps there is nothing to err.
template <Format F>
void expect_monotone() {
  std::uint32_t steps = 0;
  std::uint32_t previous = stored<F>(0.0f);
  for (std::uint32_t pattern = 1; pattern <= 0x7f800000; ++pattern) {
    const std::uint32_t bits = stored<F>(std::bit_cast<float>(pattern));
    ASSERT_TRUE(bits == previous || bits == previous + 1) << pattern;
    steps += bits - previous;
    previous = bits;
  }
  EXPECT_EQ(steps, max_finite_bits(F) + 1);
}

TEST(Storage, StoreIsMonotoneOverAllFloats) {
  expect_monotone<Format::f16>();
  expect_monotone<Format::bf16>();
}

}  // namespace
}  // namespace flashproof
