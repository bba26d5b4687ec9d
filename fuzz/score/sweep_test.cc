// Every hardened kernel on cases as a fuzzer draws them: a defect, or a bound with a precondition too few, shows here before
// it is a finding of a campaign. --gtest_shuffle --gtest_random_seed=N: other cases.
#include "fuzz/score/sweep.h"

#include <gtest/gtest.h>

#include <cstdio>

#ifndef FLASHPROOF_SWEEP_CASES
#define FLASHPROOF_SWEEP_CASES 100
#endif

namespace flashproof {
namespace {

constexpr std::uint64_t kCases = FLASHPROOF_SWEEP_CASES;

std::uint64_t seed() { return static_cast<std::uint64_t>(testing::UnitTest::GetInstance()->random_seed()) + 1; }

void expect_clean(const Sweep& sweep, std::uint64_t cases = kCases) {
  std::printf("%s", sweep.text().c_str());
  EXPECT_TRUE(sweep.findings.empty());
  EXPECT_EQ(sweep.cases, cases);
  EXPECT_GT(sweep.executions, sweep.cases);
}

TEST(Sweep, softmax) { expect_clean(sweep(ProblemKind::softmax, seed(), kCases / 5), kCases / 5); }
TEST(Sweep, merge) { expect_clean(sweep(ProblemKind::merge, seed(), kCases)); }
TEST(Sweep, gradients) { expect_clean(sweep_gradients(seed(), kCases)); }

TEST(Sweep, attention) {
  const Sweep found = sweep(ProblemKind::attention, seed(), kCases);
  expect_clean(found);
  EXPECT_GT(found.symbolic, 0U);
}

}  // namespace
}  // namespace flashproof
