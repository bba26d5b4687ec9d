// Eight leaves at a time against one at a time.
#include "reference/bound/row/row_weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/bound/row/theorem.h"
#include "reference/problem/random.h"

namespace flashproof::bound {
namespace {

RowModel draw(Random& random, std::size_t n) {
  RowModel row;
  const double spread = std::exp2(random.uniform(-4, 11));
  for (std::size_t j = 0; j < n; ++j) row.leaves.score.push_back(spread * random.uniform(-1, 1));
  row.leaves.resize(n);
  for (auto* array : {&row.leaves.score_error, &row.leaves.exponent, &row.leaves.numerator, &row.leaves.denominator,
                      &row.leaves.lost, &row.leaves.own}) {
    const double size = random.chance(0.3) ? 0 : std::exp2(random.uniform(-30, 2));
    for (double& x : *array) x = size * random.uniform();
  }
  row.common = random.chance(0.5) ? 0.1 : 0;
  row.lead = random.chance(0.2) ? 3 : 0;
  row.frame = frame_of(row.leaves);
  return row;
}

TEST(RowWeights, eight_at_a_time_are_as_one_at_a_time) {
  int plain = 0;
  for (std::uint64_t round = 0; round < 2000; ++round) {
    Random random(51, round);
    const RowModel row = draw(random, static_cast<std::size_t>(random.integer(1, 70)));
    const RowWeights weights = perturbed_weights(row);
    RowWeights one;
    WeightSums sums;
    WeightScale scale;
    scale.max = row.frame.max;
    scale.sum = 0;
    for (const double score : row.leaves.score) scale.sum += std::exp(score - scale.max);
    scale.log_sum = std::log(scale.sum);
    scale.unit = scale.sum * (row.frame.pivot >= 0 ? 1 : std::exp(-row.frame.error)) * std::exp(-row.common - row.lead);
    scale.evaluation = 0x1p-36 + static_cast<double>(row.leaves.size()) * 0x1p-52;
    for (auto* array : {&one.p, &one.q, &one.least, &one.slop}) array->resize(row.leaves.size());
    for (std::size_t j = 0; j < row.leaves.size(); ++j) {
      weigh_leaf(row, scale, j, one, sums);
      const double close = 0x1p-31;  // half of the slack
      const double twice = 0x1p-28;  // a lost weight has it twice
      ASSERT_NEAR(weights.p[j], one.p[j], one.p[j] * 0x1p-36) << round;
      ASSERT_GE(weights.q[j], one.q[j] * (1 - close)) << round;
      ASSERT_LE(weights.q[j], one.q[j] * (1 + twice)) << round;
      ASSERT_LE(weights.least[j], one.p[j]) << round;
      ASSERT_NEAR(weights.least[j], one.least[j], one.p[j] * 1e-6 + one.least[j] * twice) << round;
      ASSERT_NEAR(weights.slop[j], one.slop[j], one.slop[j] * 0x1p-19) << round;
      plain += one.q[j] > 0 && one.q[j] < one.p[j] / 16;
    }
    EXPECT_GE(weights.up, 1 + sums.q * (1 - 0x1p-31));
    EXPECT_LE(weights.low, 1);
    EXPECT_NEAR(weights.own_square, sums.own_square, 1e-9 * sums.own_square);
    EXPECT_NEAR(weights.coherent, sums.coherent, 1e-6 * sums.q);
    EXPECT_EQ(weights.longest_numerator, sums.longest_r);
  }
  EXPECT_GT(plain, 1000);
}

TEST(RowWeights, scores_that_differ_by_thousands_stay_apart) {
  RowModel row;
  for (int j = 0; j < 16; ++j) row.leaves.score.push_back(-720.0 - 100 * j);
  row.leaves.score[9] = 0;
  row.leaves.resize(16);
  row.frame = frame_of(row.leaves);
  const RowWeights weights = perturbed_weights(row);
  EXPECT_EQ(weights.p[9], 1);
  EXPECT_GT(weights.p[0], 0) << "e^-720 is a double";
  EXPECT_EQ(weights.p[15], 0);
  EXPECT_EQ(weights.low, 1);
}

TEST(RowWeights, weights_of_which_nothing_is_known_make_no_nan) {
  RowModel row;
  row.leaves.score = {0, 1, -1e38};
  row.leaves.resize(3);
  for (double& x : row.leaves.score_error) x = std::numeric_limits<double>::infinity();
  row.frame = frame_of(row.leaves);
  const RowWeights weights = perturbed_weights(row);
  EXPECT_EQ(weights.low, 0);
  EXPECT_EQ(weights.denominator, 0);
  EXPECT_EQ(weights.denominator_up, 0);
  EXPECT_GE(weights.lse_weights, 1);
  double range = 0;
  EXPECT_NEAR(column_bound(row, weights, {1, 1, 1}, 0, range).total(), 0, 1e-8);
  EXPECT_NEAR(column_bound(row, weights, {1, 2, 3}, 0, range).total(), 2, 1e-8);
}

}  // namespace
}  // namespace flashproof::bound
