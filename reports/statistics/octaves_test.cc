#include "reports/statistics/octaves.h"

#include <gtest/gtest.h>

#include <cmath>

namespace flashproof {
namespace {

TEST(octaves, a_quantile_is_the_octave_of_the_element_of_that_rank) {
  const UlpOctaves o{{{kExact, 1}, {-1, 8}, {0, 90}, {3, 1}}};
  EXPECT_EQ(o.quantile(0.01), kExact);
  EXPECT_EQ(o.quantile(0.0101), -1);
  EXPECT_EQ(o.quantile(0.09), -1);
  EXPECT_EQ(o.quantile(0.5), 0);
  EXPECT_EQ(o.quantile(0.99), 0);
  EXPECT_EQ(o.quantile(0.991), 3);
  EXPECT_EQ(o.quantile(1), 3);
  EXPECT_EQ(o.from(0), 91U);
}

TEST(octaves, an_octave_is_told_as_the_interval_that_it_is) {
  EXPECT_EQ(octave_text(-2), "[0.25, 0.5)");
  EXPECT_EQ(octave_text(kExact), "0");
  EXPECT_EQ(octave_text(kLowestOctave).substr(0, 2), "< ");
  EXPECT_EQ(octave_text(kHighestOctave).substr(0, 3), ">= ");
  EXPECT_EQ(octave_steps(-1, 2), 3);
  EXPECT_EQ(octave_steps(kExact, kLowestOctave), 1);
  EXPECT_EQ(octave_steps(kExact, kExact), 0);
}

TEST(octaves, the_mean_lies_between_its_two_ends) {
  // Errors 0, 0.3, 0.7 and 1.9: mean 0.725.
  const UlpOctaves o{{{kExact, 1}, {-2, 1}, {-1, 1}, {0, 1}}};
  const Between mean = mean_ulp(o);
  EXPECT_LE(mean.lower, 0.725);
  EXPECT_GT(mean.upper, 0.725);
  EXPECT_DOUBLE_EQ(mean.upper, 2 * mean.lower);
  EXPECT_TRUE(std::isinf(mean_ulp({{{kHighestOctave, 1}}}).upper));
  EXPECT_EQ(mean_ulp({{{kLowestOctave, 1}}}).lower, 0);
}

TEST(octaves, those_of_statistics_and_the_mean_as_text) {
  ErrorStats stats;
  stats.ulp_octaves[0] = 3;
  stats.ulp_octaves[1] = 2;
  stats.ulp_octaves[64] = 1;
  EXPECT_EQ(octaves_of(stats), (UlpOctaves{{{kExact, 3}, {kLowestOctave, 2}, {kHighestOctave, 1}}}));
  EXPECT_EQ(between_text({0, 0}), "0");
  EXPECT_EQ(between_text({0.25, 0.5}), "0.25..0.50");
  EXPECT_EQ(between_text({12, INFINITY}), ">= 12.0");
}

TEST(octaves, merging_adds_counts) {
  UlpOctaves a{{{0, 1}, {1, 2}}};
  a.merge({{{1, 3}, {2, 4}}});
  EXPECT_EQ(a, (UlpOctaves{{{0, 1}, {1, 5}, {2, 4}}}));
  EXPECT_EQ(a.elements(), 10U);
}

}  // namespace
}  // namespace flashproof
