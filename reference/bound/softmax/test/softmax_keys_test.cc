// Eight keys at a time against one at a time, and e^x − 1 against the library's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

#include "reference/bound/softmax/softmax_keys.h"
#include "reference/bound/softmax/softmax_quotient.h"
#include "reference/bound/vector/kernels.h"
#include "reference/problem/random.h"

namespace flashproof::bound {
namespace {

constexpr std::int64_t kKeys = 64;
constexpr double kClose = 0x1p-28;  // a few slacks

struct Row {
  std::vector<double> x, entry, p, q, slop;
  std::vector<int> rescales, roundings;
  double max = 0;

  explicit Row(Random& random) {
    const double spread = std::exp2(random.uniform(-10, 100));
    for (std::int64_t j = 0; j < kKeys; ++j) {
      x.push_back(spread * random.uniform(-1, 1));
      max = std::max(max, x.back());
    }
    for (std::int64_t j = 0; j < kKeys; ++j) {
      entry.push_back(random.chance(0.3) ? x[j] : random.chance(0.5) ? max : x[j] + (max - x[j]) * random.uniform());
      rescales.push_back(static_cast<int>(random.integer(0, 9)));
      roundings.push_back(static_cast<int>(random.integer(0, 2000)));
      p.push_back(x[j] - max < -745 ? 0 : std::exp(x[j] - max) / 10);
      q.push_back(random.chance(0.02) ? std::numeric_limits<double>::infinity() : p.back() * random.uniform());
      slop.push_back(p.back() * 0x1p-36);
    }
  }
};

/// Inputs and outputs of charge_key() and sum_key().
struct Charged {
  std::vector<double> own, constant, exponent, lost, denominator, own_of_sum, constant_growth;
  KeySums sums;

  Charged() {
    for (auto* list : {&own, &constant, &exponent, &lost, &denominator, &own_of_sum, &constant_growth})
      list->resize(kKeys);
  }
  PathKeys path(const Row& row) {
    return {row.x.data(),    row.entry.data(), row.rescales.data(), row.roundings.data(), own.data(),
            constant.data(), exponent.data(),  lost.data(),         denominator.data(),   own_of_sum.data()};
  }
  SummedKeys summed(const Row& row) {
    return {row.p.data(),       row.q.data(),    own_of_sum.data(),     exponent.data(),
            denominator.data(), constant.data(), constant_growth.data()};
  }
};

PathCosts draw_costs(Random& random, double max) {
  return {.max = max,
          .entry_gap = 0x1p-24,
          .entry_rest = random.chance(0.3) ? 0 : 0x1p-23,
          .constant = random.chance(0.3) ? 0 : 0x1p-27,
          .slope = 0x1p-24,
          .exponential = 0x1p-23,
          .deepest = 87,
          .lost = 0x1p-149,
          .error = 0x1p-9};
}

void expect_close(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return;
  ASSERT_NEAR(a, b, kClose * std::fabs(b));
}

TEST(SoftmaxKeys, eight_at_a_time_are_as_one_at_a_time) {
  if (!kernels::supported()) GTEST_SKIP() << "no vectors here";
  for (std::uint64_t round = 0; round < 500; ++round) {
    Random random(52, round);
    const Row row(random);
    const PathCosts costs = draw_costs(random, row.max);
    Charged eight, one;
    kernels::charge_keys(costs, eight.path(row), kKeys);
    kernels::sum_keys(eight.summed(row), kKeys, eight.sums);
    for (std::int64_t j = 0; j < kKeys; ++j) charge_key(costs, one.path(row), j);
    for (std::int64_t j = 0; j < kKeys; ++j) sum_key(one.summed(row), j, one.sums);
    for (std::size_t j = 0; j < kKeys; ++j) {
      expect_close(eight.own[j], one.own[j]);
      expect_close(eight.constant[j], one.constant[j]);
      expect_close(eight.exponent[j], one.exponent[j]);
      expect_close(eight.denominator[j], one.denominator[j]);
      expect_close(eight.own_of_sum[j], one.own_of_sum[j]);
      expect_close(eight.constant_growth[j], one.constant_growth[j]);
      if (std::fabs(row.max - row.x[j] - costs.deepest) < 1) continue;  // on either side of it
      expect_close(eight.lost[j], one.lost[j]);
    }
    expect_close(eight.sums.denominator, one.sums.denominator);
    expect_close(eight.sums.shared, one.sums.shared);
    expect_close(eight.sums.largest_own, one.sums.largest_own);
    expect_close(eight.sums.constant, one.sums.constant);
    expect_close(eight.sums.most_constant, one.sums.most_constant);
  }
}

TEST(SoftmaxQuotient, eight_at_a_time_are_as_one_at_a_time) {
  if (!kernels::supported()) GTEST_SKIP() << "no vectors here";
  std::int64_t plain = 0;
  for (std::uint64_t round = 0; round < 500; ++round) {
    Random random(53, round);
    const Row row(random);
    QuotientRow q;
    const double size = std::exp2(random.uniform(-30, 5));
    q.costs = {.denominator = size * random.uniform(),
               .ending = size * random.uniform(),
               .ending_lost = 0x1p-149,
               .flushed = 0x1p-149,
               .deepest = 87,
               .flushed_result = random.chance(0.5) ? 0 : 0x1p-126,
               .largest_own = size,
               .shared = size,
               .rounding = 0x1p-24,
               .constant_mean = size};
    q.sum = {.most = 1 + size, .moved = size};
    double* const costs[] = {&q.costs.denominator, &q.costs.ending, &q.costs.ending_lost,
                             &q.costs.flushed,     &q.sum.most,     &q.sum.moved,
                             &q.costs.largest_own, &q.costs.shared, &q.costs.constant_mean};
    const bool infinite = random.chance(0.2);
    if (infinite) *costs[random.integer(0, std::size(costs) - 1)] = std::numeric_limits<double>::infinity();
    q.max = row.max;
    q.log_sum = 2;
    q.gap = 0x1p-24;
    q.size = random.chance(0.5) ? 0 : 0x1p-24;
    q.rest = 0x1p-23;
    q.rest_at_max = random.chance(0.5) ? 0 : 0x1p-23;
    q.x = row.x.data();
    q.y = row.p.data();
    q.slop = row.slop.data();
    q.constant = row.q.data();
    std::vector<std::int64_t> column(kKeys), left(kKeys / 8);
    for (std::int64_t j = 0; j < kKeys; ++j) column[j] = kKeys - 1 - j;
    q.column = column.data();
    std::vector<ElementBound> bounds(kKeys, ElementBound{.size = -1});
    left.resize(static_cast<std::size_t>(kernels::quotients(q, kKeys, bounds.data(), left.data())));
    if (infinite) {
      ASSERT_EQ(left.size(), kKeys / 8) << "all of them one by one";
    }
    for (std::int64_t j = 0; j < kKeys; ++j) {
      if (!std::isinf(row.q[j])) continue;
      ASSERT_NE(std::ranges::find(left, j / 8 * 8), left.end()) << "an infinite constant";
    }
    for (std::int64_t j = 0; j < kKeys; ++j) {
      const ElementBound& eight = bounds[column[j]];
      if (std::ranges::find(left, j / 8 * 8) != left.end()) {
        ASSERT_EQ(eight.size, -1) << "left alone";
        continue;
      }
      ++plain;
      if (std::fabs(row.max - row.x[j] - q.costs.deepest) < 1) continue;  // on either side of it
      const ElementBound one = quotient(q.costs, q.sum, q.key(j));
      expect_close(eight.weights, one.weights);
      expect_close(eight.numerator, one.numerator);
      expect_close(eight.denominator, one.denominator);
      expect_close(eight.output, one.output);
      expect_close(eight.probable, one.probable);
      ASSERT_EQ(eight.size, one.size);
    }
  }
  EXPECT_GT(plain, 500 * kKeys / 4);
}

TEST(Growth, is_an_upper_bound_and_little_more) {
  Random random(54, 0);
  for (int i = 0; i < 100000; ++i) {
    const double x = std::exp2(random.uniform(-60, 9.4));
    const long double exact = std::expm1(static_cast<long double>(x));
    const double bound = growth(x);
    ASSERT_GE(bound, exact) << x;
    ASSERT_LE(bound, exact * (1 + 0x1p-29L)) << x;
  }
  EXPECT_EQ(growth(0), 0);
  EXPECT_EQ(growth(1000), std::numeric_limits<double>::infinity());
  EXPECT_LT(growth(-1), 0);
}

}  // namespace
}  // namespace flashproof::bound
