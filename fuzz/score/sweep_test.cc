// Every hardened kernel on cases as a fuzzer draws them: a defect, or a bound with a precondition too few, shows here before
// it is a finding of a campaign. FLASHPROOF_SEED (CMake) sets the seed.
#include "fuzz/score/sweep.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace flashproof {
namespace {

constexpr std::uint64_t kCases = FLASHPROOF_SWEEP_CASES;

constexpr std::uint64_t kSeed = FLASHPROOF_SWEEP_SEED;

void expect_clean(const Sweep& sweep, std::uint64_t cases = kCases) {
  std::printf("seed %llu: %s", static_cast<unsigned long long>(kSeed), sweep.text().c_str());
  EXPECT_TRUE(sweep.findings.empty());
  EXPECT_EQ(sweep.cases, cases);
  EXPECT_GT(sweep.executions, sweep.cases);
}

TEST(Sweep, softmax) { expect_clean(sweep(ProblemKind::softmax, kSeed, kCases / 5), kCases / 5); }
TEST(Sweep, merge) { expect_clean(sweep(ProblemKind::merge, kSeed, kCases)); }
TEST(Sweep, gradients) { expect_clean(sweep(ProblemKind::backward, kSeed, kCases)); }

TEST(Sweep, attention) {
  const Sweep found = sweep(ProblemKind::attention, kSeed, kCases);
  expect_clean(found);
  EXPECT_GT(found.symbolic, 0U);
}

}  // namespace
}  // namespace flashproof
