// A CPU without AVX2 and FMA: every row begins at the exact tier, and no vector code runs. The CPU at hand is told to be
// such a one before anybody asks, so this is a program of its own.
#include <gtest/gtest.h>

#include <cmath>

#include "hwy/targets.h"
#include "reference/oracle/oracle.h"
#include "reference/oracle/test/test_problems.h"
#include "reference/oracle/tiers.h"

namespace flashproof {
namespace {

const bool kOldCpu = (hwy::SetSupportedTargetsForTest(HWY_SSE4), true);

TEST(WithoutFp64, RowsBeginAtTheExactTier) {
  ASSERT_TRUE(kOldCpu);
  ASSERT_FALSE(has_fp64_tier());
  Random random(1, 1);
  const auto draw = test::normal(random);
  const Problem problem = test::attention(Format::f32, {.sq = 5}, draw, draw, draw);
  Oracle oracle(problem, {.threads = 2});
  const Truth& truth = oracle.truth();
  for (const Tier tier : truth.tier) EXPECT_EQ(tier, Tier::exact);
  EXPECT_EQ(truth.max_bits, 128);
  for (std::size_t i = 0; i < truth.o.size(); ++i) EXPECT_LE(truth.o[i].radius, 0x1p-90);
  ASSERT_NE(oracle.row(0, 1), nullptr);
  EXPECT_EQ(oracle.row(0, 1)->bits, 256);
  EXPECT_EQ(oracle.row(0, 5)->bits, 4096);
  EXPECT_EQ(oracle.row(0, 6), nullptr);
}

TEST(WithoutFp64, TheSameAnswersWhateverTheThreads) {
  Random random(2, 1);
  const auto draw = test::normal(random);
  const Problem problem = test::merge(Format::bf16, 3, 6, 4, draw, draw, MergeForm::sum);
  const Truth one = narrow_truth(problem, Format::f32), three = narrow_truth(problem, Format::f32, {.threads = 3});
  ASSERT_EQ(one.o.size(), 24U);
  for (std::size_t i = 0; i < one.o.size(); ++i) {
    EXPECT_EQ(one.o[i].hi, three.o[i].hi);
    EXPECT_EQ(one.o[i].lo, three.o[i].lo);
    EXPECT_EQ(one.o[i].radius, three.o[i].radius);
    EXPECT_TRUE(narrow_enough(one.o[i], Format::f32));
  }
  EXPECT_EQ(one.inconclusive, 0);
}

}  // namespace
}  // namespace flashproof
