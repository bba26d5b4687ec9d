#include "reference/oracle/escalation.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "reference/oracle/oracle.h"
#include "reference/oracle/test/test_problems.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

std::vector<Step> all_steps(const Path& path, const RowCause& cause) {
  std::vector<Step> steps;
  for (int level = 1;; ++level) {
    const auto step = path.step(cause, level);
    if (!step) break;
    steps.push_back(*step);
  }
  for (int level = static_cast<int>(steps.size()) + 1; level < 40; ++level) EXPECT_FALSE(path.step(cause, level));
  return steps;
}

std::vector<Step> exact_from(int bits) {
  std::vector<Step> steps;
  for (; bits <= kMaxBits; bits *= 2) steps.push_back({Tier::exact, bits});
  return steps;
}

std::vector<Step> then(std::vector<Step> first, const std::vector<Step>& rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

const std::vector<Step> kExact = exact_from(128);

TEST(Escalation, TheExactTierEndsAtItsLastPrecision) {
  ASSERT_EQ(kExact.size(), 6U);
  EXPECT_EQ(kExact.back(), (Step{Tier::exact, 4096}));
}

TEST(Escalation, WithoutDoubleDoubleItIsTheExactTier) {
  EXPECT_EQ(all_steps({true, false, true}, {}), kExact);
  EXPECT_EQ(all_steps({true, false, true}, {1e-9, true}), kExact);
}

TEST(Escalation, WithoutFp64TheFirstPrecisionHasBeenSeen) {
  EXPECT_EQ(all_steps({false, true, true}, {1e-9, true}), exact_from(256));
}

TEST(Escalation, TheCauseDecides) {
  const std::vector<Step> dd = {{Tier::dd, 0}}, both = {{Tier::dd_scores, 0}, {Tier::dd, 0}};
  EXPECT_EQ(all_steps({true, true, true}, {1e-9, false}), then(dd, kExact));
  EXPECT_EQ(all_steps({true, true, true}, {1e-9, true}), then(both, kExact));
  EXPECT_EQ(all_steps({true, true, false}, {1e-9, true}), then(dd, kExact));  // only attention has scores to compute
  // The line is 2^48.
  EXPECT_EQ(all_steps({true, true, true}, {0x1.fffffp47, true}), then(both, kExact));
  EXPECT_EQ(all_steps({true, true, true}, {0x1p48, true}), kExact);
  EXPECT_EQ(all_steps({true, true, true}, {kInfinity, false}), kExact);
  EXPECT_EQ(all_steps({true, true, true}, {std::numeric_limits<double>::quiet_NaN(), false}), kExact);
}

TEST(Escalation, OfAProblem) {
  const auto one = [] { return 1.0; };
  AttentionProblem problem = test::attention(Format::f32, {}, one, one, one);
  EXPECT_EQ(Path::of(problem).fp64, has_fp64_tier());
  EXPECT_TRUE(Path::of(problem).double_double);
  EXPECT_TRUE(Path::of(problem).attention);
  problem.softcap = 30.0F;
  EXPECT_FALSE(Path::of(problem).double_double);
  EXPECT_FALSE(Path::of(test::softmax(Format::f32, 1, 3, one)).attention);
}

}  // namespace
}  // namespace flashproof
