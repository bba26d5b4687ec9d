// Against every corner of the box where there are few, and against its own maximiser where there are many.
#include "reference/bound/row/linear_fractional.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/problem/random.h"
#include "reference/problem/special_values.h"

namespace flashproof::bound {
namespace {

struct Boxes {
  std::vector<double> x, a, b;
};

Boxes draw(Random& random, std::size_t n) {
  Boxes boxes;
  const double width = std::exp2(random.uniform(-30, 6));
  for (std::size_t j = 0; j < n; ++j) {
    const double w = std::exp2(-random.uniform(0, 40));
    boxes.x.push_back(random.chance(0.2) ? 1 : random.uniform(-1, 1) * std::exp2(random.uniform(-8, 8)));
    boxes.a.push_back(random.chance(0.1) ? 0 : w * std::exp(-width));
    boxes.b.push_back(w * std::exp(width));
  }
  return boxes;
}

long double mean(const Boxes& boxes, const std::vector<double>& w) {
  long double sum = 0;
  long double weighted = 0;
  for (std::size_t j = 0; j < w.size(); ++j) {
    sum += w[j];
    weighted += static_cast<long double>(w[j]) * boxes.x[j];
  }
  return weighted / sum;
}

double size(const Boxes& boxes) {
  double largest = 0;
  for (const double x : boxes.x) largest = std::max(largest, std::fabs(x));
  return largest;
}

TEST(LinearFractional, is_the_largest_mean_over_every_corner) {
  for (std::uint64_t round = 0; round < 3000; ++round) {
    Random random(3, round);
    const auto n = static_cast<std::size_t>(random.integer(1, 9));
    const Boxes boxes = draw(random, n);
    long double largest = -kInfinity;
    long double smallest = kInfinity;
    for (std::size_t corner = 0; corner < (std::size_t{1} << n); ++corner) {
      std::vector<double> w(n);
      for (std::size_t j = 0; j < n; ++j) w[j] = (corner >> j & 1) != 0 ? boxes.b[j] : boxes.a[j];
      if (std::ranges::max(w) > 0) {
        largest = std::max(largest, mean(boxes, w));
        smallest = std::min(smallest, mean(boxes, w));
      }
    }
    const double up = largest_mean(boxes.x, boxes.a, boxes.b);
    const double down = smallest_mean(boxes.x, boxes.a, boxes.b);
    const double own = 0x1p-58 * size(boxes);  // long double's rounding of nine terms
    EXPECT_GE(up, largest - own) << round;
    EXPECT_LE(down, smallest + own) << round;
    EXPECT_LE(up, largest + 0x1p-40 * size(boxes)) << round;
    EXPECT_GE(down, smallest - 0x1p-40 * size(boxes)) << round;
  }
}

TEST(LinearFractional, its_own_threshold_attains_it) {
  for (std::uint64_t round = 0; round < 300; ++round) {
    Random random(4, round);
    const Boxes boxes = draw(random, 1000);
    const double up = largest_mean(boxes.x, boxes.a, boxes.b);
    std::vector<double> w(boxes.x.size());
    for (std::size_t j = 0; j < w.size(); ++j) {
      w[j] = boxes.x[j] > up - 0x1p-40 * size(boxes) ? boxes.b[j] : boxes.a[j];
    }
    if (std::ranges::max(w) == 0) continue;
    const auto attained = static_cast<double>(mean(boxes, w));
    EXPECT_NEAR(up, attained, 0x1p-40 * size(boxes)) << round;
  }
}

TEST(LinearFractional, one_box_has_one_mean) {
  const std::vector<double> x{0.1};
  for (const double a : {0.0, 1e-300, 0.5}) {
    for (const double b : {0.5, 1e300, kInfinity}) {
      EXPECT_EQ(largest_mean(x, std::vector{a}, std::vector{b}), 0.1);
      EXPECT_EQ(smallest_mean(x, std::vector{a}, std::vector{b}), 0.1);
    }
  }
}

TEST(LinearFractional, an_unbounded_weight_may_drown_the_others) {
  const std::vector<double> x{1, 2, 4};
  EXPECT_NEAR(largest_mean(x, std::vector{1.0, 0.0, 1.0}, std::vector{1.0, kInfinity, 1.0}), 2.5,
              1e-12);  // 2 at weight 0: (1 + 4)/2
  EXPECT_EQ(largest_mean(x, std::vector{1.0, 1.0, 0.0}, std::vector{1.0, 1.0, kInfinity}), 4);
  EXPECT_EQ(largest_mean(x, std::vector{9.0, 0.0, 1.0}, std::vector{9.0, kInfinity, 1.0}), 2);
  EXPECT_EQ(smallest_mean(x, std::vector{0.0, 0.0, 0.0}, std::vector{kInfinity, kInfinity, kInfinity}), 1);
}

TEST(LinearFractional, weights_that_must_vanish_do_not_count) {
  EXPECT_NEAR(largest_mean(std::vector{1e30, 1.0, -1.0}, std::vector{0.0, 0.0, 1.0}, std::vector{0.0, 1.0, 1.0}), 0,
              1e-12);
}

}  // namespace
}  // namespace flashproof::bound
