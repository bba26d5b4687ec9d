#include "reports/compare/intervals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace flashproof::compare {
namespace {

TEST(intervals, the_rank_law_is_that_of_every_order_counted) {
  for (const auto& [n, m] : {std::pair{1, 1}, {3, 4}, {5, 2}, {4, 4}}) {
    std::vector<int> side(static_cast<std::size_t>(n), 0);
    side.resize(static_cast<std::size_t>(n + m), 1);
    std::vector<double> counts(static_cast<std::size_t>(n * m) + 1, 0.0);
    double orders = 0;
    do {
      std::size_t u = 0;
      for (std::size_t i = 0; i < side.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) u += side[i] == 0 && side[j] == 1 ? 1 : 0;
      }
      ++counts[u];
      ++orders;
    } while (std::ranges::next_permutation(side).found);
    const auto& law = rank_law(static_cast<std::size_t>(n), static_cast<std::size_t>(m));
    double sum = 0;
    for (std::size_t u = 0; u < law.size(); ++u) {
      sum += counts[u] / orders;
      EXPECT_NEAR(law[u], sum, 1e-14) << n << " " << m << " " << u;
    }
  }
}

TEST(intervals, known_critical_values) {
  // Mann and Whitney's table: at 10 and 10, P(U <= 23) <= 0.025 < P(U <= 24).
  EXPECT_LE(rank_law(10, 10)[23], 0.025);
  EXPECT_GT(rank_law(10, 10)[24], 0.025);
  EXPECT_NEAR(rank_law(200, 200)[0] * 1e100, 0, 1e-10);  // and does not overflow or go negative
  EXPECT_NEAR(coin_law(10, 1), 11.0 / 1024, 1e-15);
  EXPECT_EQ(coin_law(10, 10), 1);
}

TEST(intervals, as_few_repetitions_as_can_prove_nothing_say_so) {
  const RatioInterval unpaired = unpaired_interval({1, 2, 3}, {4, 5, 6}, 0.05);
  EXPECT_FALSE(unpaired.possible);
  EXPECT_EQ(unpaired.needed, 4U);  // 2 / C(8, 4) = 0.029
  EXPECT_TRUE(unpaired_interval({1, 2, 3, 4}, {5, 6, 7, 8}, 0.05).possible);
  const RatioInterval paired = paired_interval({1.1, 1.1, 1.1, 1.1, 1.1}, 0.05);
  EXPECT_FALSE(paired.possible);
  EXPECT_EQ(paired.needed, 6U);  // 2 / 64 = 0.031
  EXPECT_TRUE(paired_interval({1.1, 1.2, 1.1, 1.1, 1.1, 1.3}, 0.05).possible);
}

/// Times as machines make them: a floor, a skew tail, now and then an interruption.
std::vector<double> times(std::mt19937_64& engine, std::size_t n, double scale) {
  std::exponential_distribution<double> tail(1);
  std::uniform_real_distribution<double> chance(0, 1);
  std::vector<double> list;
  for (std::size_t i = 0; i < n; ++i)
    list.push_back(scale * (1 + 0.004 * tail(engine) + (chance(engine) < 0.05 ? 0.3 : 0)));
  return list;
}

// The derivation says: missed with probability at most alpha. Of 2000 trials at alpha = 0.05 at most 100 are expected, with
// standard deviation 9.7; 140 is four of them above. And were intervals needlessly wide, hardly any would miss.
TEST(intervals, coverage_is_what_was_derived_for_skewed_times_with_outliers) {
  std::mt19937_64 engine(7);
  int unpaired = 0, paired = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const auto x = times(engine, 12, 1), y = times(engine, 12, 1.03);
    const RatioInterval a = unpaired_interval(x, y, 0.05);
    if (a.lower > 1.03 || a.upper < 1.03) ++unpaired;
    std::vector<double> ratios;
    for (std::size_t i = 0; i < x.size(); ++i) ratios.push_back(y[i] / x[i]);
    const RatioInterval b = paired_interval(ratios, 0.05);
    if (b.lower > 1.03 || b.upper < 1.03) ++paired;
  }
  EXPECT_LE(unpaired, 140);
  EXPECT_LE(paired, 140);
  EXPECT_GE(unpaired, 50);
  EXPECT_GE(paired, 10);  // 12 coins: the next coarser level is 0.0386
}

TEST(intervals, a_drift_is_told_and_a_steady_series_is_not) {
  std::mt19937_64 engine(8);
  int told = 0;
  for (int trial = 0; trial < 1000; ++trial) told += drifts(times(engine, 20, 1), 0.01) ? 1 : 0;
  EXPECT_LE(told, 23);  // at most 10 expected, deviation 3.1, four of them
  std::vector<double> series = times(engine, 20, 1);
  for (std::size_t i = 10; i < 20; ++i) series[i] *= 1.05;
  EXPECT_TRUE(drifts(series, 0.01));
  EXPECT_TRUE(drifts(series, 0.01 / 100));
  EXPECT_FALSE(drifts(series, 1e-6)) << "of 10 and 10 the rarest order has a probability of 2 / 184756";
  EXPECT_FALSE(drifts({1.0}, 0.01));
}

}  // namespace
}  // namespace flashproof::compare
