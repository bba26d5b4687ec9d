#include "reports/compare/fisher.h"

#include <gtest/gtest.h>

#include <cmath>

namespace flashproof::compare {
namespace {

double choose(std::uint64_t n, std::uint64_t k) {
  double product = 1;
  for (std::uint64_t i = 0; i < k; ++i) product *= static_cast<double>(n - i) / static_cast<double>(i + 1);
  return product;
}

/// From its definition.
double by_binomials(std::uint64_t fails_a, std::uint64_t a, std::uint64_t fails_b, std::uint64_t b) {
  const std::uint64_t fails = fails_a + fails_b;
  const double here = choose(a, fails_a) * choose(b, fails_b);
  double tail = 0, sum = 0;
  for (std::uint64_t i = fails > b ? fails - b : 0; i <= std::min(fails, a); ++i) {
    const double one = choose(a, i) * choose(b, fails - i);
    sum += one;
    if (one <= here * (1 + 1e-7)) tail += one;
  }
  return tail / sum;
}

TEST(fisher, is_what_the_binomials_say_for_every_small_table) {
  EXPECT_NEAR(fisher(3, 4, 1, 4), 34.0 / 70, 1e-15);  // the lady and her tea
  for (const auto& [a, b] : {std::pair(7U, 7U), {12U, 5U}, {1U, 20U}, {9U, 13U}}) {
    for (std::uint64_t i = 0; i <= a; ++i) {
      for (std::uint64_t j = 0; j <= b; ++j) {
        EXPECT_NEAR(fisher(i, a, j, b), by_binomials(i, a, j, b), 1e-12) << i << "/" << a << " " << j << "/" << b;
      }
    }
  }
}

TEST(fisher, takes_any_number_of_cases) {
  constexpr std::uint64_t kMany = 1'000'000'000;
  EXPECT_NEAR(fisher(0, kMany, 10, kMany), 2 * 0x1p-10, 1e-9);  // each failure falls on either side
  EXPECT_EQ(fisher(0, kMany, kMany, kMany), 0);
  EXPECT_NEAR(fisher(kMany / 2, kMany, kMany / 2, kMany), 1, 1e-9);
  // 3 standard deviations of the difference: 2 Phi(-3) to the digits that the normal law has there.
  const auto off = static_cast<std::uint64_t>(1.5 * std::sqrt(0.5 * kMany));
  EXPECT_NEAR(fisher(kMany / 2 + off, kMany, kMany / 2 - off, kMany), 0.0027, 3e-6);
}

}  // namespace
}  // namespace flashproof::compare
