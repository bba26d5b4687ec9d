// containment_test.cc with a hundred times as many elements: 10^7 of the fp64 tier, in shards of their own seeds, which
// ctest runs side by side. Every fourth problem is judged by every tier.
#include <gtest/gtest.h>

#include <cstdio>

#include "reference/oracle/test/containment.h"
#include "reference/oracle/test/test_problems.h"

namespace flashproof {
namespace {

using containment::Case;
using containment::Tallies;
using containment::Way;

constexpr std::uint64_t kShards = 16;
constexpr std::int64_t kWidth = 512;  // columns per exp of the reference
constexpr std::uint64_t kSeeds = 6, kOddShapes = 32, kRandomProblems = 100;

class ContainmentNightly : public testing::TestWithParam<std::uint64_t> {};

/// All ways, or the fp64 tier alone.
void judge(const Problem& problem, bool all, Tallies& tallies) {
  const Case judged(problem);
  if (all) {
    tallies.judge(judged);
  } else {
    tallies.judge(judged, Way::fp64);
  }
}

TEST_P(ContainmentNightly, NoViolation) {
  const std::uint64_t shard = GetParam();
  std::int64_t elements = 0;
  for (std::size_t kind = 0; kind < test::hard_kinds().size(); ++kind) {
    const std::string& name = test::hard_kinds()[kind].name;
    SCOPED_TRACE(name);
    Tallies tallies;
    for (std::uint64_t n = 0; n < kSeeds; ++n) {
      const std::uint64_t seed = 1000 + shard * kSeeds + n;  // none of the quick test's
      Random random(seed, kind);
      judge(containment::widened(test::hard_kinds()[kind].make(random), n == 0 ? 64 : kWidth, random), n == 0, tallies);
    }
    tallies.print(name);
    EXPECT_EQ(tallies.complaints(name), "");
    elements += tallies[Way::fp64].elements;
  }
  Tallies odd;
  for (std::uint64_t n = 0; n < kOddShapes; ++n) {
    Random random(1000 + shard * kOddShapes + n, 2);
    judge(containment::odd_shape(random, n % 4 == 0 ? 64 : 256), n % 4 == 0, odd);
  }
  odd.print("odd shapes");
  EXPECT_EQ(odd.complaints(), "");
  EXPECT_EQ(odd[Way::fp64].unbounded, 0);
  Tallies any;
  for (std::uint64_t n = 0; n < kRandomProblems; ++n) {
    const std::uint64_t seed = 1000 + shard * kRandomProblems + n;
    Random random(seed, 1);
    judge(containment::widened(test::random_problem(seed), n % 4 == 0 ? 32 : 128, random), n % 4 == 0, any);
  }
  any.print("random problems");
  EXPECT_EQ(any.complaints(), "");
  EXPECT_EQ(any[Way::fp64].unbounded, 0);
  elements += odd[Way::fp64].elements + any[Way::fp64].elements;
  std::printf("%lld elements of the fp64 tier\n", static_cast<long long>(elements));
  EXPECT_GE(elements, 10'000'000 / static_cast<std::int64_t>(kShards));
}

INSTANTIATE_TEST_SUITE_P(Shard, ContainmentNightly, testing::Range(std::uint64_t{0}, kShards));

}  // namespace
}  // namespace flashproof
