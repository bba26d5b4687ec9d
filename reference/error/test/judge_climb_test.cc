// Escalation by verdict: only what the first ball leaves open climbs, and what decides does not depend on who else asked.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "reference/error/judge.h"
#include "reference/error/test/scene.h"
#include "reference/oracle/oracle.h"
#include "reference/oracle/test/test_problems.h"
#include "reference/oracle/tiers.h"

namespace flashproof {
namespace {

std::uint64_t open_elements(const Judgement& j) {
  constexpr auto kOpen = static_cast<std::size_t>(VerdictKind::inconclusive);
  return j.o.verdicts[kOpen] + j.lse.verdicts[kOpen];
}

std::string text(const Judgement& j) {
  std::string all = to_string(j.worst) + j.worst.detail + j.o.serialize() + j.lse.serialize();
  for (const auto* climbed : {&j.climbed_o, &j.climbed_lse}) {
    for (const auto& [index, ball] : *climbed) {
      all += fmt::format(" {} {:a} {:a} {:a}", index, ball.hi, ball.lo, ball.radius);
    }
  }
  return all;
}

/// Tiers made by hand: level l of a row has o and lse of radius[l − 1] around the scene's own values.
struct Tiers {
  const Scene& scene;
  std::vector<double> radius;
  std::vector<std::pair<std::int64_t, int>> asked = {};
  RowBalls row = {};

  NextTier next() {
    return [this](std::int64_t r, int level) -> const RowBalls* {
      asked.emplace_back(r, level);
      if (level > static_cast<int>(radius.size())) return nullptr;
      const auto around = [&](Ball ball) {
        ball.radius = radius[static_cast<std::size_t>(level) - 1];
        return ball;
      };
      row.o.clear();
      for (std::int64_t c = 0; c < scene.truth.width; ++c) {
        row.o.push_back(around(scene.truth.o[static_cast<std::size_t>(scene.offset(r, c))]));
      }
      row.lse = around(scene.truth.lse[static_cast<std::size_t>(r)]);
      row.tier = Tier::exact;
      return &row;
    };
  }
};

using Asked = std::vector<std::pair<std::int64_t, int>>;

TEST(JudgeClimb, NothingClimbsThatTheFirstBallDecides) {
  Scene s = make_scene(3, 4);
  s.set_o(1, 1, 100);  // far outside
  Tiers tiers{s, {0}};
  const Judgement j = judge(s.output, s.truth, s.bound, {}, 0, tiers.next());
  EXPECT_TRUE(j.worst.failed());
  EXPECT_TRUE(tiers.asked.empty());
  EXPECT_TRUE(j.climbed_o.empty() && j.climbed_lse.empty());
}

TEST(JudgeClimb, AnElementClimbsUntilItIsDecided) {
  Scene s = make_scene(3, 4);
  s.set_true_o(1, 2, {0.5, 0, 1});
  s.set_o(1, 2, 0.5);
  Tiers tiers{s, {0.25, 0x1p-10, 0x1p-60, 0}};
  const Judgement j = judge(s.output, s.truth, s.bound, {}, 0, tiers.next());
  EXPECT_EQ(to_string(j.worst), "pass");
  EXPECT_EQ(tiers.asked, (Asked{{1, 1}, {1, 2}, {1, 3}}));
  ASSERT_EQ(j.climbed_o.size(), 1U);
  EXPECT_EQ(j.climbed_o.at(6).radius, 0x1p-60);
  EXPECT_EQ(judged_element(s.output, s.truth, s.bound, j, Part::o, 6).truth.radius, 0x1p-60);
  EXPECT_EQ(judged_element(s.output, s.truth, s.bound, j, Part::o, 5).truth.radius, 0x1p-60);  // the scene's own
  EXPECT_EQ(open_elements(j), 0U);
}

TEST(JudgeClimb, TheFailureIsShownWithTheBallThatDecided) {
  Scene s = make_scene(2, 2);
  s.truth.lse.set(1, {1, 0, 8});
  s.set_lse(1, 1.5);
  Tiers tiers{s, {4, 0x1p-30}};
  const Judgement j = judge(s.output, s.truth, s.bound, {}, 0, tiers.next());
  EXPECT_EQ(to_string(j.worst), "fail(exceeds_bound)");
  EXPECT_THAT(j.worst.detail, testing::HasSubstr("lse[row 1]: computed 1.5"));
  EXPECT_THAT(j.worst.detail, testing::HasSubstr("exact 1 ± 9.31e-10"));
  EXPECT_EQ(j.climbed_lse.at(1).radius, 0x1p-30);
}

TEST(JudgeClimb, WhatNoTierDecidesStaysInconclusive) {
  Scene s = make_scene(2, 2);
  s.set_true_o(0, 0, {0.5, 0, 1});
  s.set_true_o(1, 1, {0.5, 0, 1});
  for (const auto& [r, c] : {std::pair{0, 0}, {1, 1}}) s.set_o(r, c, 0.5);
  Tiers tiers{s, {0.25, 0.125}};
  const Judgement j = judge(s.output, s.truth, s.bound, {}, 0, tiers.next());
  EXPECT_EQ(to_string(j.worst), "inconclusive");
  EXPECT_EQ(open_elements(j), 2U);
  EXPECT_EQ(tiers.asked, (Asked{{0, 1}, {0, 2}, {0, 3}, {1, 1}, {1, 2}, {1, 3}}));
  EXPECT_EQ(j.climbed_o.at(0).radius, 0.125);
}

TEST(JudgeClimb, ABrokenBoundClimbsNowhere) {
  for (const double bound : {std::nan(""), -1.0}) {
    Scene s = make_scene(1, 1);
    s.bound_o(0, 0) = {bound, 0, 0, 0};
    Tiers tiers{s, {0}};
    EXPECT_EQ(to_string(judge(s.output, s.truth, s.bound, {}, 0, tiers.next()).worst), "inconclusive");
    EXPECT_TRUE(tiers.asked.empty());
  }
}

/// Attention with outputs that are right up to rounding, and loose bounds; the test moves single elements to the edge.
struct EdgeCase {
  Problem problem;
  Output output;
  Bound bound;

  explicit EdgeCase(std::uint64_t seed) {
    Random random(seed, 1);
    const auto draw = test::normal(random);
    problem = test::attention(Format::f32, {.q_heads = 2, .sq = 6, .sk = 24, .d = 16, .dv = 4}, draw, draw, draw);
    const Truth truth = compute_truth(problem);
    output = {Tensor::dense(Format::f32, {truth.rows, truth.width}), Tensor::dense(Format::f32, {truth.rows})};
    bound.rows = truth.rows;
    bound.width = truth.width;
    bound.o.assign(truth.o.size(), {1e-3, 0, 0, 0});
    bound.lse.assign(truth.lse.size(), {1e-3, 0, 0, 0});
    bound.range.assign(truth.o.size(), 1.0);
    bound.domain.resize(truth.lse.size());
    bound.accumulator_outside.assign(truth.o.size(), 0);
    for (std::size_t i = 0; i < truth.o.size(); ++i) {
      output.o.set_bits(static_cast<std::int64_t>(i), encode(Format::f32, truth.o[i].hi));
    }
    for (std::size_t i = 0; i < truth.lse.size(); ++i) {
      output.lse.set_bits(static_cast<std::int64_t>(i), encode(Format::f32, truth.lse[i].hi));
    }
  }

  /// Moves o[index] three f32 steps below the truth and sets its bound so that the limit lies a quarter of the first
  /// ball's radius from the exact value: on the right side (accepted) or on the wrong one. False if the exact value is
  /// not in the middle half of that ball, where the limit may lie outside it.
  bool move_to_edge(Oracle& oracle, std::int64_t index, bool accepted) {
    const Ball low = oracle.truth().o[static_cast<std::size_t>(index)];
    const Ball exact = oracle.row(index / bound.width, 1)->o[static_cast<std::size_t>(index % bound.width)];
    if (std::fabs((exact.hi - low.hi) + exact.lo) > low.radius / 2) return false;
    const double step = ulp(Format::f32, exact.hi);
    const double y = round_to(Format::f32, exact.hi) - 3 * step;
    if (ulp(Format::f32, y) != step || exact.hi < 0) return false;  // a power of two in between, or the other side
    // y is inside iff o − B' < y + step/2. The difference of close doubles is exact.
    const double limit = (exact.hi - (y + step / 2)) + exact.lo;
    output.o.set_bits(index, encode(Format::f32, y));
    bound.o[static_cast<std::size_t>(index)] = {limit + (accepted ? 0.25 : -0.25) * low.radius, 0, 0, 0};
    return true;
  }
};

TEST(JudgeClimb, AtTheEdgeOfTheBoundTheOracleDecidesWhatFp64CannotAndNothingElseClimbs) {
  if (!has_fp64_tier()) GTEST_SKIP() << "this CPU has no fp64 tier";
  int moved = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    for (const bool accepted : {true, false}) {
      EdgeCase c(seed);
      Oracle maker(c.problem);
      const auto index = static_cast<std::int64_t>(7 * seed % 48);
      if (!c.move_to_edge(maker, index, accepted)) continue;
      ++moved;
      const Judgement fp64 = judge(c.output, maker.truth(), c.bound, {}, 0);
      EXPECT_EQ(open_elements(fp64), 1U) << seed;
      Oracle oracle(c.problem);
      const Judgement j = judge(c.output, oracle, c.bound, {}, 0);
      EXPECT_EQ(to_string(j.worst), accepted ? "pass" : "fail(exceeds_bound)") << seed;
      EXPECT_EQ(open_elements(j), 0U);
      EXPECT_EQ(oracle.climbed(), 1) << seed;
      ASSERT_EQ(j.climbed_o.size(), 1U);
      EXPECT_TRUE(j.climbed_o.contains(index));
      // Another judgement needs no new row; a fresh oracle that was asked other things before says the same.
      EXPECT_EQ(text(judge(c.output, oracle, c.bound, {}, 0)), text(j));
      EXPECT_EQ(oracle.climbed(), 1);
      for (std::int64_t row = 11; row >= 0; --row) maker.row(row, 2);
      EXPECT_EQ(text(judge(c.output, maker, c.bound, {}, 0)), text(j));
    }
  }
  EXPECT_GE(moved, 4);
}

}  // namespace
}  // namespace flashproof
