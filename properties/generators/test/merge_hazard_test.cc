// The families about orders, trees and states of merges hold what they promise.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "properties/generators/joins.h"
#include "properties/generators/test/test_rows.h"

namespace flashproof {
namespace {

const std::vector<std::int32_t>& order_of(const Case& made) {
  if (const auto* softmax = std::get_if<SoftmaxProblem>(&made.problem)) return softmax->plan.order;
  if (const auto* merge = std::get_if<MergeProblem>(&made.problem)) return merge->order;
  return std::get<AttentionProblem>(made.problem).plan.order;
}

/// order[i + 1] − order[i] modulo n, each i.
std::vector<int> steps_of(const std::vector<std::int32_t>& order) {
  std::vector<int> steps;
  const auto n = static_cast<int>(order.size());
  for (std::size_t i = 0; i + 1 < order.size(); ++i) steps.push_back((order[i + 1] - order[i] + n) % n);
  return steps;
}

TEST(MergeHazard, RingOrderIsARotationEitherWay) {
  std::set<int> first, lengths;
  int backwards = 0, cases = 0;
  for_each_case(*find_family("ring_order"), [&](const Case& made) {
    const auto& order = order_of(made);
    const auto n = static_cast<int>(order.size());
    ASSERT_GE(n, 5) << to_string(made.spec);
    const std::vector<int> steps = steps_of(order);
    EXPECT_TRUE(steps[0] == 1 || steps[0] == n - 1) << to_string(made.spec);
    EXPECT_EQ(std::ranges::count(steps, steps[0]), n - 1) << to_string(made.spec);
    backwards += steps[0] != 1;
    ++cases;
    first.insert(order[0]);
    lengths.insert(n);
  });
  EXPECT_GT(backwards, cases / 4);
  EXPECT_LT(backwards, cases - cases / 4);
  EXPECT_GE(first.size(), 8U);  // ranks
  EXPECT_EQ(lengths.size(), 12U);
}

TEST(MergeHazard, StripedOrderTakesEveryRthBlock) {
  std::set<int> strides;
  for_each_case(*find_family("striped_order"), [&](const Case& made) {
    const auto& order = order_of(made);
    const auto n = static_cast<int>(order.size());
    int stride = order[1] - order[0];
    EXPECT_GE(stride, 2) << to_string(made.spec);
    int within = 0;
    for (int i = 0; i + 1 < n; ++i) within += order[i + 1] - order[i] == stride;
    EXPECT_EQ(within, n - stride) << to_string(made.spec);  // all but where one stripe ends
    strides.insert(stride);
  });
  EXPECT_GE(strides.size(), 4U);
}

/// Joins above the deepest state.
int depth_of(const MergeProblem& p) {
  std::vector<int> depth(p.order.size(), 0);
  for (const Join& join : p.joins) depth.push_back(1 + std::max(depth[join.left], depth[join.right]));
  return depth.back();
}

TEST(MergeHazard, MergeTreeHasEveryShapeAndEmptyJoins) {
  int balanced = 0, caterpillar = 0, other = 0, one_sided = 0, both_empty = 0, left_heavy = 0, right_heavy = 0;
  for_each_case(*find_family("merge_tree"), [&](const Case& made) {
    const auto& p = std::get<MergeProblem>(made.problem);
    const auto n = static_cast<int>(p.order.size());
    ASSERT_EQ(static_cast<int>(p.joins.size()), n - 1);
    const int least = static_cast<int>(std::ceil(std::log2(n)));
    const int depth = depth_of(p);
    EXPECT_GE(depth, least);
    if (n >= 5) (depth == least ? balanced : depth == n - 1 ? caterpillar : other)++;
    for (const Join& join : p.joins) {
      left_heavy += join.left >= n && join.right < n;
      right_heavy += join.right >= n && join.left < n;
    }
    for (std::int64_t r = 0; r < p.lse.shape[1]; ++r) {
      std::vector<bool> empty;
      for (const std::int32_t c : p.order) empty.push_back(p.lse.at({c, r}) == -INFINITY);
      for (const Join& join : p.joins) {
        const bool left = empty[join.left], right = empty[join.right];
        one_sided += left != right;
        both_empty += left && right;
        empty.push_back(left && right);
      }
    }
  });
  for (const int count : {balanced, caterpillar, other, one_sided, both_empty, left_heavy, right_heavy}) {
    EXPECT_GE(count, 5) << balanced << " " << caterpillar << " " << other << " " << one_sided << " " << both_empty
                        << " " << left_heavy << " " << right_heavy;
  }
}

TEST(MergeHazard, JoinsOfALargeBalancedTreeAreAsDeepAsTheLogarithm) {
  Random random(1, 1);
  for (const int n : {1, 2, 3, 1000, 4096}) {
    MergeProblem p;
    p.order.resize(static_cast<std::size_t>(n));
    p.joins = draw_joins(random, n, TreeShape::balanced);
    ASSERT_EQ(static_cast<int>(p.joins.size()), n - 1);
    EXPECT_EQ(depth_of(p), static_cast<int>(std::ceil(std::log2(n)))) << n;
    p.joins = draw_joins(random, n, TreeShape::caterpillar);
    EXPECT_EQ(depth_of(p), n - 1) << n;
  }
}

TEST(MergeHazard, UnnormalisedStatesNeedTheirSums) {
  int moved = 0, weightless_largest = 0, hidden_with_l = 0, rows = 0, trees = 0;
  for_each_case(*find_family("unnormalised"), [&](const Case& made) {
    const auto& p = std::get<MergeProblem>(made.problem);
    ASSERT_TRUE(p.has_l());
    trees += !p.joins.empty();
    for (std::int64_t r = 0; r < p.lse.shape[1]; ++r) {
      double largest_m = -INFINITY, largest = -INFINITY, m_of_largest = 0, largest_empty = -INFINITY;
      for (std::int64_t c = 0; c < p.lse.shape[0]; ++c) {
        const double m = p.lse.at({c, r}), l = p.l.at({c, r}), o = p.o.at({c, r, 0});
        const bool empty = m == -INFINITY || l == 0;
        EXPECT_EQ(std::isnan(o), empty) << to_string(made.spec);
        hidden_with_l += m == -INFINITY && std::isnan(l);
        if (l == 0) largest_empty = std::max(largest_empty, m);
        if (empty) continue;
        largest_m = std::max(largest_m, m);
        if (m + std::log(l) > largest) {
          largest = m + std::log(l);
          m_of_largest = m;
        }
      }
      ++rows;
      moved += largest > -INFINITY && m_of_largest < largest_m;
      weightless_largest += largest_empty > largest_m && largest_m > -INFINITY;
    }
  });
  EXPECT_GE(moved, rows / 20);
  EXPECT_GE(weightless_largest, 6);
  EXPECT_GE(hidden_with_l, 10);
  EXPECT_GE(trees, 10);
}

TEST(MergeHazard, LseGapsStraddleEveryEdge) {
  int equal = 0, rounds_away = 0, overflows = 0, below_overflow = 0, subnormal = 0, zero = 0, falls = 0,
      after_empty = 0;
  for_each_case(*find_family("lse_gaps"), [&](const Case& made) {
    const auto& p = std::get<MergeProblem>(made.problem);
    for (std::int64_t r = 0; r < p.lse.shape[1]; ++r) {
      for (std::size_t k = 1; k < p.order.size(); ++k) {
        const double before = p.lse.at({p.order[k - 1], r}), now = p.lse.at({p.order[k], r});
        if (before == -INFINITY) {
          after_empty += now > -INFINITY;
          continue;
        }
        const double gap = now - before;
        equal += gap == 0;
        rounds_away += std::abs(gap) > 16 && std::abs(gap) < 18;
        below_overflow += gap > 86.9 && gap < 88.72;
        overflows += gap > 88.73;
        subnormal += gap < -87.34 && gap > -103.2;
        zero += gap < -104;
        falls += gap < 0;
      }
    }
  });
  for (const int count : {equal, rounds_away, overflows, below_overflow, subnormal, zero, falls, after_empty}) {
    EXPECT_GE(count, 12);
  }
}

}  // namespace
}  // namespace flashproof
