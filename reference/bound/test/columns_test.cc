// Sums in f32 against sums in double, which the theorem's own tests attack.
#include "reference/bound/vector/columns.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "reference/bound/row/sums.h"
#include "reference/bound/vector/column_pass.h"
#include "reference/oracle/fp64/vector/highway_targets.h"
#include "reference/problem/random.h"
#include "reference/problem/special_values.h"

namespace flashproof::bound {
namespace {

struct Case {
  std::vector<RowModel> rows;
  std::vector<RowWeights> weights;
  std::vector<double> v;
  std::int64_t keys, width;
  EndingModel ending = 1;
};

RowModel draw_row(Random& random, std::int64_t keys, double spread) {
  RowModel row;
  const bool holes = random.chance(0.3);
  const std::int64_t first = random.chance(0.5) ? 0 : random.integer(0, keys - 1);
  const std::int64_t last = random.chance(0.5) ? keys : random.integer(first + 1, keys);
  for (std::int64_t j = first; j < last; ++j) {
    if (j > first && holes && random.chance(0.2)) continue;
    row.leaves.key.push_back(j);
    row.leaves.score.push_back(spread * random.uniform(-1, 1));
  }
  if (random.chance(0.3)) {
    row.leaves.key.push_back(-1);
    row.leaves.score.push_back(0);
  }
  const std::size_t n = row.leaves.key.size();
  row.leaves.resize(n);
  for (std::size_t j = 0; j < n; ++j) {
    row.leaves.score_error[j] = 1e-6 * random.uniform();
    row.leaves.exponent[j] = 1e-6 * random.uniform();
    row.leaves.own[j] = row.leaves.exponent[j] / 2;
    row.leaves.numerator[j] = 6e-8 * static_cast<double>(n - j);
    row.leaves.own_numerator[j] = 3e-8;
    row.leaves.denominator[j] = 6e-8 * random.uniform(1, 9);
    row.leaves.lost[j] = random.chance(0.1) ? 1e-38 : 0;
    row.leaves.lost_numerator[j] = random.chance(0.1) ? 1e-9 : 0;
  }
  row.numerator_underflow = 1e-43;
  row.numerator_square = random.chance(0.5) ? static_cast<double>(n) * 0x1p-48 : 0;
  row.denominator_square = random.chance(0.5) ? static_cast<double>(n) * 0x1p-48 : 0;
  row.drift = random.chance(0.3) ? 0.5 : 0;
  row.frame = frame_of(row.leaves);
  return row;
}

Case draw(Random& random, double spread) {
  Case c;
  c.keys = random.integer(1, 300);
  c.width = random.integer(1, 40);
  for (int r = 0; r < 3; ++r) {
    c.rows.push_back(draw_row(random, c.keys, spread));
    c.weights.push_back(perturbed_weights(c.rows.back()));
  }
  const double offset = random.chance(0.3) ? 10 : 0;
  for (std::int64_t i = 0; i < c.keys * c.width; ++i) {
    c.v.push_back(static_cast<float>(offset + random.uniform(-1, 1)));
  }
  return c;
}

struct Both {
  std::vector<ElementBound> fast, slow;
  std::vector<double> fast_range, slow_range;
  std::int64_t fast_refined, slow_refined = 0;
};

Both both(const Case& c) {
  Both result;
  const std::size_t elements = c.rows.size() * static_cast<std::size_t>(c.width);
  result.fast.resize(elements);
  result.slow.resize(elements);
  result.fast_range.assign(elements, -1);
  result.slow_range.assign(elements, -2);
  std::vector<RowToBound> rows;
  for (std::size_t r = 0; r < c.rows.size(); ++r) {
    const std::size_t at = r * static_cast<std::size_t>(c.width);
    rows.push_back({&c.rows[r], &c.weights[r], &result.fast[at], &result.fast_range[at]});
    result.slow_refined +=
        column_bounds(c.rows[r], c.weights[r], c.v.data(), c.width, c.ending, &result.slow[at], &result.slow_range[at]);
  }
  const ValueTable values(c.v.data(), c.keys, c.width);
  result.fast_refined = column_bounds(rows, values, c.ending);
  return result;
}

/// f32 never below double, and hardly above: by the share `wide`, and by the slop of o times an error.
void expect_close(const Case& c, double wide, std::uint64_t round) {
  const Both b = both(c);
  EXPECT_EQ(b.fast_refined, b.slow_refined) << round;
  for (std::size_t i = 0; i < b.fast.size(); ++i) {
    const ElementBound& fast = b.fast[i];
    const ElementBound& slow = b.slow[i];
    const auto expect = [&](const char* name, double x, double y, double extra) {
      EXPECT_GE(x, y * (1 - 1e-12)) << name << " of round " << round;
      EXPECT_LE(x, y * (1 + wide) + extra) << name << " of round " << round;
    };
    const RowWeights& weights = c.weights[i / static_cast<std::size_t>(c.width)];
    const double moved = 4 * kChainError * slow.size * (weights.up - 1) / weights.low;
    const double second = 1e-11 * slow.size;  // the slop of o times errors below 1e-6
    EXPECT_EQ(b.fast_range[i], b.slow_range[i]) << round;
    expect("weights", fast.weights, slow.weights, moved);
    expect("numerator", fast.numerator, slow.numerator, 1e-60);
    expect("denominator", fast.denominator, slow.denominator, second);
    expect("output", fast.output, slow.output, second);
    expect("size", fast.size, slow.size, 1e-60);
    EXPECT_LE(fast.probable, fast.total());
    EXPECT_GE(fast.probable, slow.probable * (1 - 1e-12)) << round;
    EXPECT_LE(fast.probable, 3 * slow.probable + moved) << round;
    EXPECT_LE(fast.drift, fast.probable);
    EXPECT_GE(fast.drift, std::min(slow.drift * (1 - 1e-12), fast.probable)) << round;
    EXPECT_LE(fast.drift, slow.drift * (1 + wide) + 1.1e-8 * static_cast<double>(c.keys))
        << round;  // and lost weights'
  }
}

TEST(Columns, f32_sums_are_never_below_double_and_hardly_above) {
  for (std::uint64_t round = 0; round < 300; ++round) {
    Random random(61, round);
    expect_close(draw(random, std::exp2(random.uniform(-3, 5))), 1e-3, round);
  }
}

TEST(Columns, special_values_decide_their_own_column_alone) {
  Random random(62, 0);
  Case c = draw(random, 1);
  c.v[0] = kInfinity;
  c.v[c.v.size() - 1] = std::numeric_limits<double>::quiet_NaN();
  c.v[c.v.size() / 2] = -kInfinity;
  expect_close(c, 1e-3, 0);
}

TEST(Columns, values_of_every_size_beside_vanishing_weights) {
  for (std::uint64_t round = 0; round < 100; ++round) {
    Random random(63, round);
    Case c = draw(random, 300);  // weights down to e^-600
    for (double& x : c.v) x = static_cast<float>(x * std::exp2(random.uniform(-120, 120)));
    const Both b = both(c);
    EXPECT_EQ(b.fast_refined, b.slow_refined);
    for (std::size_t i = 0; i < b.fast.size(); ++i) {
      ASSERT_GE(b.fast[i].total(), b.slow[i].total() * (1 - 1e-12));
      ASSERT_LE(b.fast[i].total(), b.slow[i].total() * 1.01 + 1e-9 * b.slow[i].size);
      ASSERT_EQ(b.fast_range[i], b.slow_range[i]);
    }
  }
}

TEST(Columns, equal_values_and_zeros) {
  for (const double value : {0.0, 1.0, -3e38, 1e-45}) {
    Random random(64, 0);
    Case c = draw(random, 2);
    for (double& x : c.v) x = static_cast<float>(value);
    expect_close(c, 1e-3, 0);
  }
}

TEST(Columns, rows_whose_weights_are_unknown_are_left_to_double) {
  Random random(65, 0);
  Case c = draw(random, 1);
  for (double& x : c.rows[1].leaves.score_error) x = 1e5;
  c.rows[1].frame = frame_of(c.rows[1].leaves);
  c.weights[1] = perturbed_weights(c.rows[1]);
  EXPECT_GE(both(c).fast_refined, c.width);
  expect_close(c, 1e-3, 0);
}

TEST(Columns, every_vector_unit_computes_the_same_bits) {
  Random random(66, 0);
  const Case c = draw(random, 4);
  std::vector<double> q(static_cast<std::size_t>(9 * 40));
  for (double& x : q) x = static_cast<float>(random.normal());
  struct Bits {
    std::vector<ElementBound> bounds;
    std::vector<double> dot, size, q;
  };
  const auto compute = [&] {
    Bits bits{both(c).fast, std::vector<double>(81), std::vector<double>(81), perturbed_weights(c.rows[0]).q};
    dots({q.data(), 9, 40}, {q.data(), 9, 40}, bits.dot.data(), bits.size.data());
    return bits;
  };
  const Bits first = compute();
  const std::int64_t supported = hwy::SupportedTargets();
  for (const std::int64_t target : {std::int64_t{HWY_AVX2}, std::int64_t{HWY_AVX3}}) {
    if ((supported & target) == 0) continue;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    const Bits again = compute();
    for (std::size_t i = 0; i < first.bounds.size(); ++i) {
      EXPECT_EQ(first.bounds[i].total(), again.bounds[i].total()) << hwy::TargetName(target);
      EXPECT_EQ(first.bounds[i].probable, again.bounds[i].probable) << hwy::TargetName(target);
      EXPECT_EQ(first.bounds[i].size, again.bounds[i].size) << hwy::TargetName(target);
    }
    EXPECT_EQ(first.dot, again.dot);
    EXPECT_EQ(first.size, again.size);
    EXPECT_EQ(first.q, again.q);
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace
}  // namespace flashproof::bound
