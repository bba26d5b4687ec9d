#include "reference/bound/row/sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "reference/problem/random.h"
#include "reference/problem/special_values.h"

namespace flashproof::bound {
namespace {

struct Sums {
  std::vector<double> dot, size;
};

Sums sums(const std::vector<double>& q, const std::vector<double>& k, std::int64_t d) {
  const Matrix left{q.data(), static_cast<std::int64_t>(q.size()) / d, d};
  const Matrix right{k.data(), static_cast<std::int64_t>(k.size()) / d, d};
  Sums result{std::vector<double>(left.rows * right.rows, -1), std::vector<double>(left.rows * right.rows, -1)};
  dots(left, right, result.dot.data(), result.size.data());
  return result;
}

void expect_close(const std::vector<double>& q, const std::vector<double>& k, std::int64_t d) {
  const Sums got = sums(q, k, d);
  const auto keys = static_cast<std::int64_t>(k.size()) / d;
  for (std::int64_t at = 0; at < static_cast<std::int64_t>(got.dot.size()); ++at) {
    long double dot = 0;
    long double size = 0;
    for (std::int64_t c = 0; c < d; ++c) {
      const long double product = static_cast<long double>(q[at / keys * d + c]) * k[at % keys * d + c];
      dot += product;
      size += std::fabs(product);
    }
    const auto width = static_cast<double>(d);
    if (!std::isfinite(dot)) {
      EXPECT_EQ(std::isnan(dot), std::isnan(got.dot[at]));
      if (!std::isnan(dot)) {
        EXPECT_EQ(static_cast<double>(dot), got.dot[at]);
      }
      EXPECT_FALSE(std::isfinite(got.size[at]));
      continue;
    }
    EXPECT_LE(std::fabs(dot - got.dot[at]), (width + 2) * 0x1p-53 * size) << at;
    EXPECT_GE(got.size[at], size) << at;
    EXPECT_LE(got.size[at], size * (1 + (width + 16) * 0x1p-22)) << at;
  }
}

std::vector<double> draw(Random& random, std::int64_t n, int exponents) {
  std::vector<double> x(static_cast<std::size_t>(n));
  for (double& value : x) {
    value =
        static_cast<float>(std::ldexp(random.uniform(-1, 1), static_cast<int>(random.integer(-exponents, exponents))));
  }
  return x;
}

TEST(Sums, dots_and_their_sizes_hold_for_every_shape) {
  Random random(41, 0);
  for (const std::int64_t d : {1, 3, 16, 65, 128}) {
    for (const std::int64_t rows : {1, 2, 3, 9, 33}) {
      for (const std::int64_t keys : {1, 15, 16, 17, 33, 70}) {
        expect_close(draw(random, rows * d, 2), draw(random, keys * d, 2), d);
      }
    }
  }
}

TEST(Sums, sizes_hold_where_f32_would_overflow_or_underflow) {
  Random random(42, 0);
  for (int round = 0; round < 20; ++round) {
    expect_close(draw(random, 9 * 20, 126), draw(random, 40 * 20, 126), 20);
  }
  // Nothing of the large components meets: 1e38 · 1e-45 and zeros.
  std::vector<double> q(4 * 20, 0.0);
  std::vector<double> k(4 * 20, 0.0);
  for (int r = 0; r < 4; ++r) {
    q[r * 20] = 3e38;
    q[r * 20 + 1] = 0x1p-149;
    k[r * 20 + 1] = 0x1p-149;
    k[r * 20 + 2] = 3e38;
  }
  expect_close(q, k, 20);
}

TEST(Sums, infinite_and_zero_rows_are_as_the_products_say) {
  Random random(43, 0);
  std::vector<double> q = draw(random, 5 * 8, 1);
  std::vector<double> k = draw(random, 5 * 8, 1);
  q[3] = kInfinity;
  q[8 + 1] = std::numeric_limits<double>::quiet_NaN();
  k[2 * 8 + 3] = -kInfinity;
  k[3 * 8 + 3] = 0;  // inf · 0
  for (int c = 0; c < 8; ++c) q[4 * 8 + c] = k[4 * 8 + c] = 0;
  expect_close(q, k, 8);
}

}  // namespace
}  // namespace flashproof::bound
