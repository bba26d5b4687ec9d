#include <gtest/gtest.h>

#include <cstdlib>

#include "reference/oracle/fp64/vector/highway_targets.h"
#include "reference/oracle/test/test_problems.h"
#include "reference/oracle/tiers.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

TEST(Fp64Tier, SizesTheTruthForEveryProblem) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Problem problem = test::random_problem(seed);
    const OutputShape shape = output_shape(problem);
    std::vector<std::int64_t> rows;
    for (std::int64_t r = 0; r < shape.rows; r += 2) rows.push_back(r);
    std::vector<RowCause> cause(rows.size());
    Truth truth;
    truth.max_bits = 7;  // what was there before goes
    fp64_tier(problem, rows, Threads(2), truth, cause);
    EXPECT_EQ(truth.rows, static_cast<std::int64_t>(rows.size()));
    EXPECT_EQ(truth.width, shape.width);
    EXPECT_EQ(truth.o.size(), rows.size() * static_cast<std::size_t>(shape.width));
    EXPECT_EQ(truth.lse.size(), rows.size());
    EXPECT_EQ(truth.tier.size(), rows.size());
    EXPECT_EQ(truth.max_bits, 0);
    for (std::size_t p = 0; p < rows.size(); ++p) {
      EXPECT_TRUE(truth.tier[p] == Tier::fp64 || truth.tier[p] == Tier::symbolic);
      if (truth.tier[p] == Tier::fp64) {
        EXPECT_EQ(truth.lse[p].classes, kFinite);
      }
    }
  }
}

/// In a process of its own, because the CPU is asked only once.
int exit_code_without_avx2() {
  hwy::SetSupportedTargetsForTest(HWY_SSE4);
  if (has_fp64_tier()) return 1;
  const std::vector<std::int64_t> rows = {0};
  std::vector<RowCause> cause(1);
  Truth truth;
  try {
    fp64_tier(test::random_problem(1), rows, Threads(), truth, cause);
  } catch (const InfrastructureError&) {
    return 0;
  }
  return 2;
}

TEST(Fp64TierDeathTest, IsRefusedWithoutAvx2) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(exit_code_without_avx2()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace flashproof
