// Does every ball of every tier contain the exact result? And is it a ball worth having: bounded, and narrow where doubles
// are good enough? The nightly test does the same with a hundred times as many elements.
#include "reference/oracle/test/containment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "reference/oracle/oracle.h"
#include "reference/oracle/test/test_problems.h"

namespace flashproof {
namespace {

using containment::Case;
using containment::ContainmentCounts;
using containment::Tallies;
using containment::Way;

constexpr std::int64_t kWidth = 128;  // columns per exp of the reference

TEST(Containment, HardKindsByEveryTier) {
  ASSERT_GE(test::hard_kinds().size(), 35U);
  std::int64_t elements = 0;
  for (std::size_t kind = 0; kind < test::hard_kinds().size(); ++kind) {
    const std::string& name = test::hard_kinds()[kind].name;
    SCOPED_TRACE(name);
    Tallies tallies;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      Random random(seed, kind);
      tallies.judge(Case(containment::widened(test::hard_kinds()[kind].make(random), kWidth, random)));
    }
    tallies.print(name);
    EXPECT_EQ(tallies.complaints(name), "");
    EXPECT_GE(tallies[Way::fp64].elements, 60);
    elements += tallies[Way::fp64].elements;
  }
  std::printf("%lld elements of the fp64 tier\n", static_cast<long long>(elements));
  EXPECT_GE(elements, 100'000);
}

TEST(Containment, RandomProblemsOfEveryShape) {
  Tallies tallies;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Random random(seed, 1);
    tallies.judge(Case(containment::widened(test::random_problem(seed), 16, random)));
  }
  tallies.print("random problems");
  EXPECT_EQ(tallies.complaints(), "");
  for (const ContainmentCounts& tally : tallies.of) EXPECT_GE(tally.elements, 4000);
  EXPECT_EQ(tallies[Way::fp64].unbounded, 0);
}

TEST(Containment, OddShapes) {
  Tallies tallies;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed, 2);
    tallies.judge(Case(containment::odd_shape(random, kWidth)));
  }
  tallies.print("odd shapes");
  EXPECT_EQ(tallies.complaints(), "");
  EXPECT_GE(tallies[Way::fp64].elements, 15'000);
  EXPECT_EQ(tallies[Way::fp64].unbounded, 0);
}

// Negative controls: the same check on spoiled balls.

TEST(ContainmentControl, AShrunkenRadiusIsNoticed) {
  // The last rounding to hi + lo is the largest part of a radius and is mostly real: an eighth of it is too little.
  Random random(1, 100);
  const Case judged(test::softmax(Format::f32, 4, 50, [&] { return random.normal(); }));
  const ContainmentCounts tally = judged.judge(Way::exact_128, [](Ball& ball) { ball.radius *= 0.125; });
  EXPECT_GT(tally.violations, tally.elements / 2);
}

TEST(ContainmentControl, APerturbedValueIsNoticed) {
  Random random(2, 100);
  const Case judged(test::hard_kinds()[12].make(random));  // attention normal
  // Four radii, but at least four units in the last place of lo, so that the addition does not round it away: the
  // exact result is at most one radius from the centre, hence at least 2.5 radii from the moved one.
  const ContainmentCounts by_four_radii = judged.judge(Way::dd, [](Ball& ball) {
    const double unit = std::nextafter(std::fabs(ball.lo), 1.0) - std::fabs(ball.lo);
    ball.lo += 4.0 * std::max(ball.radius, unit);
  });
  EXPECT_EQ(by_four_radii.violations, by_four_radii.elements);
  const ContainmentCounts without_rest = judged.judge(Way::exact_128, [](Ball& ball) { ball.lo = 0.0; });
  EXPECT_EQ(without_rest.violations, without_rest.elements);
  // The fp64 tier has no lo.
  const ContainmentCounts fp64 = judged.judge(Way::fp64, [](Ball& ball) { ball.hi += 4.0 * ball.radius; });
  EXPECT_EQ(fp64.violations, fp64.elements);
}

TEST(ContainmentControl, AWideRadiusIsNoticed) {
  Random random(3, 100);
  const Case judged(test::softmax(Format::f32, 2, 20, [&] { return random.normal(); }));
  const ContainmentCounts tally =
      judged.judge(Way::narrow, [](Ball& ball) { ball.radius = 0x1p-34 * std::fabs(ball.hi); });
  EXPECT_EQ(tally.violations, 0);
  EXPECT_EQ(tally.loose, tally.elements);
  EXPECT_GE(tally.wide, tally.elements - 2);  // but for an lse below 1/4
}

TEST(ContainmentControl, ATierThatGivesUpIsNoticed) {
  Random random(4, 100);
  const Case judged(test::hard_kinds()[12].make(random));
  const ContainmentCounts tally =
      judged.judge(Way::fp64, [](Ball& ball) { ball.radius = std::numeric_limits<double>::infinity(); });
  EXPECT_EQ(tally.unbounded, tally.elements);
}

}  // namespace
}  // namespace flashproof
