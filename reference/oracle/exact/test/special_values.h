// The table of special values (reference/problem/README.md) is checked twice: on the exact tier alone, and on the whole
// oracle, whose first tier has code of its own for it.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/oracle/exact/all_rows.h"
#include "reference/oracle/oracle.h"
#include "reference/oracle/test/test_problems.h"
#include "reference/problem/special_values.h"

namespace flashproof::test {

inline constexpr Format kF32 = Format::f32;
inline constexpr int kZeroOrNan = kFinite | kNaN;

enum class Source { exact_tier, oracle };

class SpecialValues : public testing::TestWithParam<Source> {
 protected:
  static Truth truth_of(const Problem& problem) {
    validate(problem);
    return GetParam() == Source::exact_tier ? all_rows(problem) : compute_truth(problem);
  }
};

inline void expect_exactly(const Ball& ball, double value) {
  EXPECT_EQ(ball.classes, kFinite);
  EXPECT_EQ(ball.hi, value);
  EXPECT_EQ(ball.lo, 0.0);
  EXPECT_EQ(ball.radius, 0.0);
}

/// `value` is within the ball and the few ulp of double that computing `value` cost; the ball is narrow.
inline void expect_near(const Ball& ball, double value) {
  EXPECT_EQ(ball.classes, kFinite);
  EXPECT_LE(std::fabs(ball.hi - value), ball.radius + std::fabs(ball.lo) + 0x1p-50 * std::fabs(value));
  EXPECT_TRUE(narrow_enough(ball, kF32)) << ball.radius;
}

/// One attention row.
inline void expect_nan_row(const Truth& truth) {
  for (std::size_t c = 0; c < truth.o.size(); ++c) EXPECT_EQ(truth.o[c].classes, kNaN);
  EXPECT_EQ(truth.lse[0].classes, kNaN);
  EXPECT_EQ(truth.tier[0], Tier::symbolic);
}

inline void expect_zeros(const Truth& truth) {
  for (std::size_t i = 0; i < truth.o.size(); ++i) expect_exactly(truth.o[i], 0.0);
}

/// One row, three keys with the score 2, two value columns; v_jc = 1.
inline AttentionProblem three_keys() {
  const auto one = [] { return 1.0; };
  AttentionProblem p = attention(kF32, {.sq = 1, .sk = 3, .d = 2, .dv = 2}, one, one, one);
  p.scale = 1.0F;
  return p;
}

inline AttentionProblem three_keys_with_bias(double bias0, double bias1, double bias2) {
  AttentionProblem p = three_keys();
  p.bias = Tensor::dense(kF32, {1, 1, 1, 3});
  p.bias.set({0, 0, 0, 0}, bias0);
  p.bias.set({0, 0, 0, 1}, bias1);
  p.bias.set({0, 0, 0, 2}, bias2);
  return p;
}

}  // namespace flashproof::test
