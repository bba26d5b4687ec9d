// Edge floats are numbers of their format, finite, below the exponent asked for, and reach both ends of it.
#include "properties/generators/edge_float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace flashproof {
namespace {

TEST(EdgeFloat, ReachesTheEndsOfEveryFormat) {
  for (const Format format : {Format::f32, Format::f16, Format::bf16, Format::e4m3fn, Format::e5m2}) {
    SCOPED_TRACE(info(format).name);
    const double normal = min_normal(format), ulp = pow2(1 - info(format).precision);
    Random random(7, 1);
    std::set<double> seen;
    int subnormal = 0, zero = 0, negative_zero = 0;
    for (int n = 0; n < 4000; ++n) {
      const double x = edge_float(random, format, 1023);
      ASSERT_TRUE(std::isfinite(x));
      ASSERT_EQ(round_to(format, x), x);
      seen.insert(std::abs(x));
      subnormal += x != 0 && std::abs(x) < normal;
      zero += x == 0;
      negative_zero += x == 0 && std::signbit(x);
    }
    EXPECT_GE(subnormal, 200);
    EXPECT_GE(zero, 100);
    EXPECT_GE(negative_zero, 30);
    for (const double edge : {min_subnormal(format), normal - min_subnormal(format), normal, normal * (1 + ulp), 1.0,
                              1 + ulp, 2 - ulp, info(format).max_finite}) {
      EXPECT_TRUE(seen.contains(edge)) << edge;
    }
  }
}

TEST(EdgeFloat, StaysBelowTheExponentAskedFor) {
  Random random(7, 2);
  for (const int most : {-20, -1, 0, 6}) {
    double largest = 0;
    for (int n = 0; n < 1000; ++n) largest = std::max(largest, edge_magnitude(random, Format::f32, most));
    EXPECT_LT(largest, pow2(most + 1));
    EXPECT_GE(largest, pow2(most));
  }
}

}  // namespace
}  // namespace flashproof
