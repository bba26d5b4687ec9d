// Rows that climb: Oracle::row, and what must not depend on threads or on the order of questions.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <set>
#include <tuple>
#include <vector>

#include "reference/oracle/escalation.h"
#include "reference/oracle/oracle.h"
#include "reference/oracle/test/test_problems.h"
#include "reference/oracle/threads.h"

namespace flashproof {
namespace {

using Bits = std::array<std::uint64_t, 4>;

Bits bits_of(const Ball& ball) {
  return {std::bit_cast<std::uint64_t>(ball.hi), std::bit_cast<std::uint64_t>(ball.lo),
          std::bit_cast<std::uint64_t>(ball.radius), ball.classes};
}

std::vector<Bits> bits_of(const Balls& balls) {
  std::vector<Bits> bits;
  bits.reserve(balls.size());
  for (std::size_t i = 0; i < balls.size(); ++i) bits.push_back(bits_of(balls[i]));
  return bits;
}

std::vector<Bits> bits_of(const RowBalls& row) {
  std::vector<Bits> bits = {bits_of(row.lse)};
  for (const Ball& ball : row.o) bits.push_back(bits_of(ball));
  return bits;
}

void expect_same(const Truth& a, const Truth& b) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.width, b.width);
  EXPECT_EQ(bits_of(a.o), bits_of(b.o));
  EXPECT_EQ(bits_of(a.lse), bits_of(b.lse));
  EXPECT_EQ(a.tier, b.tier);
  EXPECT_EQ(a.max_bits, b.max_bits);
  EXPECT_EQ(a.inconclusive, b.inconclusive);
}

/// Two heads and sequences, GQA, a bias that hides a whole row: symbolic rows among the others.
AttentionProblem mixed(std::uint64_t seed) {
  Random random(seed, 0);
  const auto draw = test::normal(random);
  AttentionProblem problem =
      test::attention(Format::f32, {.batch = 2, .q_heads = 4, .k_heads = 2, .sq = 5, .sk = 19}, draw, draw, draw);
  problem.bias = Tensor::dense(Format::f32, {2, 4, 5, 19});
  for (std::int64_t i = 0; i < problem.bias.elements(); ++i) {
    problem.bias.set_bits(i, encode(Format::f32, i / 19 % 7 == 3 ? -HUGE_VAL : random.normal()));
  }
  return problem;
}

/// Half the rows cancel: o is exactly 0 there, and only the exact tier gets near enough.
AttentionProblem cancelling() {
  Random random(3, 0);
  const auto draw = test::normal(random);
  AttentionProblem problem = test::attention(Format::f32, {.sq = 6, .sk = 8, .d = 4, .dv = 2}, draw, draw, draw);
  for (std::int64_t j = 0; j < 8; j += 2) {
    for (std::int64_t c = 0; c < 4; ++c) problem.k.set({0, 0, j + 1, c}, problem.k.at({0, 0, j, c}));
    problem.v.set({0, 0, j + 1, 0}, -problem.v.at({0, 0, j, 0}));
  }
  return problem;
}

TEST(Climb, LevelsFollowThePathAndAgreeWithTheTruth) {
  const Problem problem = mixed(1);
  Oracle oracle(problem);
  const Truth& truth = oracle.truth();
  ASSERT_EQ(truth.rows, 40);
  int symbolic = 0;
  for (std::int64_t row = 0; row < truth.rows; ++row) {
    if (truth.tier[row] == Tier::symbolic) {
      ++symbolic;
      EXPECT_EQ(oracle.row(row, 1), nullptr);
      continue;
    }
    int level = 0;
    std::set<std::tuple<Tier, int>> seen;
    for (const RowBalls* balls = oracle.row(row, ++level); balls != nullptr; balls = oracle.row(row, ++level)) {
      EXPECT_TRUE(seen.emplace(balls->tier, balls->bits).second);
      ASSERT_EQ(balls->o.size(), 5U);
      for (std::int64_t c = 0; c < truth.width; ++c) {
        const Ball low = truth.o[row * truth.width + c], high = balls->o[c];
        // Two balls around one number overlap.
        EXPECT_LE(std::fabs((low.hi - high.hi) + (low.lo - high.lo)), (low.radius + high.radius) * (1 + 0x1p-50));
        EXPECT_LE(high.radius, 0x1p-40);
      }
    }
    EXPECT_TRUE(seen.contains({Tier::exact, kMaxBits}));
  }
  EXPECT_EQ(symbolic, 6);
}

TEST(Climb, OneRowIsComputedOnceAndTheOrderOfQuestionsDoesNotMatter) {
  const Problem problem = cancelling();
  Oracle forward(problem), backward(problem);
  std::vector<std::vector<Bits>> one, two;
  for (std::int64_t row = 0; row < 6; ++row) {
    for (int level = 1; level <= 3; ++level) one.push_back(bits_of(*forward.row(row, level)));
  }
  EXPECT_EQ(forward.climbed(), 18);
  for (std::int64_t row = 5; row >= 0; --row) {
    for (int level = 3; level >= 1; --level) two.insert(two.begin(), bits_of(*backward.row(row, level)));
  }
  EXPECT_EQ(one, two);
  for (std::int64_t row = 0; row < 6; ++row) forward.row(row, 2);
  EXPECT_EQ(forward.climbed(), 18);
}

TEST(Climb, NarrowTruthDoesNotDependOnTheThreads) {
  struct Run {
    Problem problem;
    Format format;
    std::int64_t climbing;  // rows, at least: there is something to share out
  };
  for (const Run& run :
       {Run{mixed(2), Format::f32, 0}, Run{mixed(2), Format::f64, 34}, Run{cancelling(), Format::f32, 6}}) {
    const Truth one = narrow_truth(run.problem, run.format);
    EXPECT_EQ(one.inconclusive, 0);
    EXPECT_GE(std::ranges::count_if(one.tier, [](Tier tier) { return tier > Tier::fp64; }), run.climbing);
    for (const int threads : {2, 3, 7}) expect_same(one, narrow_truth(run.problem, run.format, {.threads = threads}));
  }
}

TEST(Climb, ComputeTruthsIsNarrowTruthOfEach) {
  std::vector<Problem> problems;
  problems.reserve(7);
  for (std::uint64_t seed = 0; seed < 5; ++seed) problems.emplace_back(mixed(10 + seed));
  problems.emplace_back(cancelling());
  problems.emplace_back(test::softmax(Format::bf16, 3, 9, [] { return 1.0; }));
  for (const int threads : {1, 2, 3, 16}) {
    const std::vector<Truth> truths = compute_truths(problems, Format::f32, {.threads = threads});
    ASSERT_EQ(truths.size(), problems.size());
    for (std::size_t i = 0; i < truths.size(); ++i) expect_same(truths[i], narrow_truth(problems[i], Format::f32));
  }
  EXPECT_TRUE(compute_truths({}, Format::f32, {.threads = 3}).empty());
}

TEST(Climb, OnlyWhatIsWideClimbs) {
  // Narrow to f32 in the first tier: nothing is computed twice, no precision is named.
  if (!has_fp64_tier()) GTEST_SKIP() << "this CPU has no fp64 tier";
  const Truth truth = compute_truth(test::softmax(Format::f32, 3, 9, [] { return 1.0; }));
  for (const Tier tier : truth.tier) EXPECT_EQ(tier, Tier::fp64);
  EXPECT_EQ(truth.max_bits, 0);
}

}  // namespace
}  // namespace flashproof
