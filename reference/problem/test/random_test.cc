#include "reference/problem/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace flashproof {
namespace {

using Words = std::array<std::uint32_t, 4>;

// The three philox4x32, 10 rounds, lines of Random123's kat_vectors (Salmon et al., SC'11).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32_10({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, DrawIsAFunctionOfSeedStreamAndIndex) {
  const std::uint64_t seed = 0x299f31d0a4093822, stream = 0x0370734413198a2e;
  Random random(seed, stream);
  for (std::uint32_t n = 0; n < 400; ++n) {  // beyond what is made at a time, several times
    const Words block = philox4x32_10({n / 4, 0, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0});
    EXPECT_EQ(random.next_u32(), block[n % 4]) << n;
  }
  EXPECT_EQ(Random(0, 0).next_u64(), 0xe169c58d6627e8d5) << "low word first";
  EXPECT_NE(Random(0, 1).next_u32(), Random(0, 0).next_u32());
  EXPECT_NE(Random(1, 0).next_u32(), Random(0, 0).next_u32());
}

// Computed by a second implementation of the rules in random.h (Python integers and floats). These numbers make the
// cases: if one of them changes, every printed case line means other data.
// changes, every printed case line means other data.
TEST(Random, GoldenDraws) {
  Random random(7, 3);
  EXPECT_EQ(random.uniform(), 0x1.fb03c4297b350p-4);
  EXPECT_EQ(random.normal(), -0x1.5a43d39000000p-1);
  EXPECT_EQ(random.integer(-5, 1000), 863);
  EXPECT_EQ(random.uniform(-2.0, 3.0), 0x1.6578161206774p-1);
}

TEST(Random, IntegersStayInRangeAndReachBothEnds) {
  Random random(1, 1);
  std::vector<int> count(7, 0);
  for (int i = 0; i < 7000; ++i) ++count[static_cast<std::size_t>(random.integer(-3, 3) + 3)];
  // Binomial(7000, 1/7): standard deviation 29.3. Six of them each way; the draws are fixed, so this never flickers.
  for (int c : count) EXPECT_NEAR(c, 1000, 176);

  constexpr auto kLowest = std::numeric_limits<std::int64_t>::min(),
                 kHighest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(random.integer(kLowest, kLowest), kLowest);
  EXPECT_EQ(random.integer(kHighest, kHighest), kHighest);
  bool negative = false, positive = false;
  for (int i = 0; i < 64; ++i) {
    const std::int64_t x = random.integer(kLowest, kHighest);
    negative = negative || x < 0;
    positive = positive || x > 0;
  }
  EXPECT_TRUE(negative && positive);
  // More than half of all draws: here a modulo without rejection would be biased two to one.
  const std::int64_t third = std::int64_t{1} << 62;
  int low = 0;
  for (int i = 0; i < 6000; ++i) low += random.integer(-third, 2 * (third - 1)) < 0;
  EXPECT_NEAR(low, 2000, 220);  // binomial(6000, 1/3): standard deviation 36.5
}

TEST(Random, UniformAndNormalMoments) {
  Random random(2, 9);
  constexpr int kDraws = 100'000;
  double sum = 0, square = 0, largest = 0, uniform_sum = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.normal(), u = random.uniform();
    ASSERT_TRUE(u >= 0 && u < 1);
    ASSERT_TRUE(x >= -6 && x <= 6);
    sum += x;
    square += x * x;
    largest = std::max(largest, x);
    uniform_sum += u;
  }
  // Six standard deviations of each mean: 1/sqrt(n); sqrt(1.9/n) (fourth moment of Irwin-Hall 12 is 2.9); sqrt(1/12n).
  EXPECT_NEAR(sum / kDraws, 0.0, 0.019);
  EXPECT_NEAR(square / kDraws, 1.0, 0.027);
  EXPECT_NEAR(uniform_sum / kDraws, 0.5, 0.0055);
  EXPECT_GT(largest, 3.0);
}

TEST(Random, ChanceEnds) {
  Random random(4, 4);
  int hits = 0;
  for (int i = 0; i < 4000; ++i) {
    ASSERT_FALSE(random.chance(0.0));
    ASSERT_TRUE(random.chance(1.0));
    hits += random.chance(0.25);
  }
  EXPECT_NEAR(hits, 1000, 165);  // binomial(4000, 1/4): standard deviation 27.4
}

}  // namespace
}  // namespace flashproof
