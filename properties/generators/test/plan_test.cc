#include "properties/generators/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "properties/generators/test/test_rows.h"

namespace flashproof {
namespace {

using Order = std::vector<std::int32_t>;

TEST(Plan, PermutationsAreLexicographic) {
  for (int n = 0; n <= 6; ++n) {
    Order expected(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) expected[static_cast<std::size_t>(i)] = i;
    std::uint64_t index = 0;
    do {
      EXPECT_EQ(permutation(n, index), expected);
      ++index;
    } while (std::next_permutation(expected.begin(), expected.end()));
  }
  Order reverse(20);
  for (int i = 0; i < 20; ++i) reverse[static_cast<std::size_t>(i)] = 19 - i;
  EXPECT_EQ(permutation(20, 2432902008176640000ULL - 1), reverse);
}

TEST(Plan, OrdersOfUpToFourChunksByIndex) {
  Random random(1, 2);
  std::set<Order> seen;
  for (std::uint64_t seed = 0; seed < 24; ++seed) seen.insert(draw_order(random, 4, seed, {}));
  EXPECT_EQ(seen.size(), 24U);
  seen.clear();
  for (std::uint64_t seed = 0; seed < 50; ++seed) seen.insert(draw_order(random, 5, seed, {}));
  EXPECT_GE(seen.size(), 25U);
}

TEST(Plan, Boundaries) {
  Random random(3, 4);
  for (int n = 0; n < 200; ++n) {
    const std::int64_t length = random.integer(1, 300), size = random.integer(1, 100);
    const auto cuts = draw_boundaries(random, length, size, n % 2 == 0);
    EXPECT_EQ(cuts.front(), 0);
    EXPECT_EQ(cuts.back(), length);
    for (std::size_t c = 1; c < cuts.size(); ++c) {
      EXPECT_GT(cuts[c], cuts[c - 1]);
      EXPECT_LE(cuts[c] - cuts[c - 1], size);
    }
    const int exact = static_cast<int>(random.integer(1, std::min<std::int64_t>(length, 12)));
    EXPECT_EQ(draw_cuts(random, length, exact).size(), static_cast<std::size_t>(exact) + 1);
  }
  EXPECT_EQ(draw_boundaries(random, 0, 8, false), (Order{0}));
}

Order order_of(const Case& made) {
  if (const auto* merge = std::get_if<MergeProblem>(&made.problem)) return merge->order;
  if (const auto* softmax = std::get_if<SoftmaxProblem>(&made.problem)) return softmax->plan.order;
  return std::get<AttentionProblem>(made.problem).plan.order;
}

TEST(Plan, ChunkOrderReachesEveryOrder) {
  const Family& family = *find_family("chunk_order");
  for (const ProblemKind problem : family.problems) {
    std::map<std::size_t, std::set<Order>> seen;
    for (std::uint64_t seed = 100; seed < 136; ++seed) {
      const Order order = order_of(make_case({problem, "chunk_order", seed, {}}));
      seen[order.size()].insert(order);
    }
    EXPECT_EQ(seen[2].size(), 2U) << name(problem);
    EXPECT_EQ(seen[3].size(), 6U) << name(problem);
    EXPECT_EQ(seen[4].size(), 24U) << name(problem);
    EXPECT_TRUE(seen.contains(5) && seen.contains(8)) << name(problem);
  }
}

TEST(Plan, BoundariesUniformAndIrregular) {
  int uniform = 0, irregular = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Case made = make_case({ProblemKind::softmax, "normal", seed, {}});
    const auto& cuts = std::get<SoftmaxProblem>(made.problem).plan.boundary;
    if (cuts.size() < 4) continue;
    bool same = true;
    for (std::size_t c = 2; c + 1 < cuts.size(); ++c) same = same && cuts[c] - cuts[c - 1] == cuts[1];
    ++(same ? uniform : irregular);
  }
  EXPECT_GE(uniform, 30);
  EXPECT_GE(irregular, 30);
}

}  // namespace
}  // namespace flashproof
