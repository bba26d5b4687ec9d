// Special values of the backward pass: README.md beside this file.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "reference/oracle/backward/backward_problems.h"
#include "reference/oracle/backward/backward_truth.h"
#include "reference/oracle/test/test_problems.h"
#include "reference/problem/special_values.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

constexpr int kUnbounded = kPosInf | kNegInf | kNaN;
constexpr BackwardMode kModes[] = {BackwardMode::stage, BackwardMode::gradient};

/// Two queries of one head, three keys, d = 2, dv = 2.
BackwardProblem small(BackwardMode mode) {
  Random random(3, 1);
  BackwardProblem p;
  p.forward = test::attention(Format::f32, {.q_heads = 1, .k_heads = 1, .sq = 2, .sk = 3, .d = 2, .dv = 2},
                              test::normal(random), test::normal(random), test::normal(random));
  p.d_out = test::filled(Format::f32, {1, 1, 2, 2}, test::normal(random));
  test::fill_forward(p, Format::f32);
  p.mode = mode;
  return p;
}
Truth truth_with(BackwardMode mode, const std::function<void(BackwardProblem&)>& change) {
  BackwardProblem p = small(mode);
  change(p);
  return backward_truth(p, Format::f32);
}
/// Classes of both columns of a row, which are the same.
int classes(const Balls& balls, std::size_t row) {
  EXPECT_EQ(balls[2 * row].classes, balls[2 * row + 1].classes);
  return balls[2 * row].classes;
}
void expect_same(const Balls& a, const Balls& b, std::size_t row) {
  for (std::size_t n = 2 * row; n < 2 * row + 2; ++n) {
    EXPECT_EQ(a[n].classes, kFinite);
    EXPECT_LE(std::fabs(a[n].hi - b[n].hi), a[n].radius + b[n].radius);
  }
}
void hide_row(BackwardProblem& p, std::int64_t i) {
  p.forward.bias = Tensor::dense(Format::f32, {1, 1, 2, 3});
  for (std::int64_t r = 0; r < 2; ++r) {
    for (std::int64_t j = 0; j < 3; ++j) p.forward.bias.set({0, 0, r, j}, r == i ? -kInfinity : 0);
  }
}

TEST(BackwardSpecial, a_row_without_a_visible_key_contributes_nothing_whatever_it_holds) {
  for (const BackwardMode mode : kModes) {
    const Truth truth = truth_with(mode, [](BackwardProblem& p) {
      hide_row(p, 0);
      for (std::int64_t c = 0; c < 2; ++c) {
        p.d_out.set({0, 0, 0, c}, kNan);
        p.o.set({0, 0, 0, c}, kInfinity);
        p.forward.q.set({0, 0, 0, c}, kNan);
      }
      p.lse.set({0, 0, 0}, kNan);
    });
    EXPECT_EQ(truth.dq[0].hi, 0);
    EXPECT_EQ(truth.dq[0].radius, 0);
    EXPECT_EQ(classes(truth.dq, 0), kFinite);
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_EQ(classes(truth.dk, j), kFinite);
      EXPECT_EQ(classes(truth.dv, j), kFinite);
    }
  }
}

TEST(BackwardSpecial, a_nan_in_q_reaches_every_key_of_its_row_and_no_other_query) {
  for (const BackwardMode mode : kModes) {
    const Truth truth = truth_with(mode, [](BackwardProblem& p) { p.forward.q.set({0, 0, 1, 0}, kNan); });
    EXPECT_EQ(classes(truth.dq, 0), kFinite);
    EXPECT_EQ(classes(truth.dq, 1), kNaN);
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_EQ(classes(truth.dk, j), kNaN);
      EXPECT_EQ(classes(truth.dv, j), kNaN);
    }
  }
}

TEST(BackwardSpecial, a_nan_key_poisons_the_stage_at_that_key_and_the_gradient_through_lse) {
  const auto change = [](BackwardProblem& p) { p.forward.k.set({0, 0, 1, 0}, kNan); };
  const Truth stage = truth_with(BackwardMode::stage, change);
  const Truth plain = truth_with(BackwardMode::stage, [](BackwardProblem&) {});
  EXPECT_EQ(classes(stage.dq, 0), kNaN);
  EXPECT_EQ(classes(stage.dk, 1), kNaN);
  EXPECT_EQ(classes(stage.dv, 1), kNaN);
  expect_same(stage.dk, plain.dk, 0);
  expect_same(stage.dv, plain.dv, 2);
  const Truth gradient = truth_with(BackwardMode::gradient, change);
  for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(classes(gradient.dv, j), kNaN);
}

TEST(BackwardSpecial, an_infinity_in_the_output_gradient_is_never_finite_again) {
  for (const BackwardMode mode : kModes) {
    const Truth truth = truth_with(mode, [](BackwardProblem& p) { p.d_out.set({0, 0, 0, 1}, kInfinity); });
    EXPECT_EQ(classes(truth.dq, 0), kUnbounded);
    EXPECT_EQ(classes(truth.dq, 1), kFinite);
    EXPECT_EQ(classes(truth.dk, 2), kUnbounded);
    EXPECT_EQ(truth.dv[0].classes, kFinite);
    EXPECT_EQ(truth.dv[1].classes, kUnbounded);
  }
}

TEST(BackwardSpecial, a_nan_value_enters_ds_of_its_key_and_through_o_of_the_row) {
  const auto change = [](BackwardProblem& p) { p.forward.v.set({0, 0, 0, 0}, kNan); };
  const Truth stage = truth_with(BackwardMode::stage, change);
  EXPECT_EQ(classes(stage.dq, 0), kNaN);
  EXPECT_EQ(classes(stage.dk, 0), kNaN);
  EXPECT_EQ(classes(stage.dk, 1), kFinite);
  EXPECT_EQ(classes(stage.dv, 0), kFinite);
  const Truth gradient = truth_with(BackwardMode::gradient, change);
  EXPECT_EQ(classes(gradient.dk, 1), kNaN);
  EXPECT_EQ(classes(gradient.dv, 0), kFinite);
}

TEST(BackwardSpecial, the_stored_lse_decides_the_stage) {
  const auto with_lse = [](double value) {
    return truth_with(BackwardMode::stage, [&](BackwardProblem& p) { p.lse.set({0, 0, 0}, value); });
  };
  EXPECT_EQ(classes(with_lse(kNan).dv, 1), kNaN);
  EXPECT_EQ(classes(with_lse(-kInfinity).dv, 1), kUnbounded);
  const Truth no_weight = with_lse(kInfinity);  // how FlashAttention-2 stores an empty row
  EXPECT_EQ(no_weight.dq[0].hi, 0);
  EXPECT_EQ(classes(no_weight.dq, 0), kFinite);
  EXPECT_EQ(classes(no_weight.dv, 1), kFinite);
  const Truth beside = truth_with(BackwardMode::stage, [](BackwardProblem& p) {
    p.lse.set({0, 0, 0}, kInfinity);
    p.d_out.set({0, 0, 0, 0}, kNan);
  });
  EXPECT_EQ(beside.dq[0].classes, kFinite | kNaN);
  EXPECT_EQ(beside.dv[0].classes, kFinite | kNaN);
  EXPECT_EQ(beside.dv[1].classes, kFinite) << "0 times the other column of dO is 0";
  for (const double o : {kNan, kInfinity}) {  // enters D, not dv
    const Truth of_o = truth_with(BackwardMode::stage, [&](BackwardProblem& p) {
      p.lse.set({0, 0, 0}, kInfinity);
      p.o.set({0, 0, 0, 0}, o);
    });
    EXPECT_EQ(of_o.dq[0].classes, kFinite | kNaN);
    for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(classes(of_o.dv, j), kFinite);
  }
}

TEST(BackwardSpecial, the_gradient_ignores_the_stored_o_and_lse) {
  const Truth truth = truth_with(BackwardMode::gradient, [](BackwardProblem& p) {
    p.lse.set({0, 0, 0}, kNan);
    p.o.set({0, 0, 0, 0}, kNan);
  });
  const Truth plain = truth_with(BackwardMode::gradient, [](BackwardProblem&) {});
  expect_same(truth.dq, plain.dq, 0);
  expect_same(truth.dv, plain.dv, 1);
}

TEST(BackwardSpecial, a_score_of_plus_infinity_is_never_finite_and_one_of_minus_infinity_has_no_weight) {
  const Truth up = truth_with(BackwardMode::stage, [](BackwardProblem& p) {
    p.forward.q.set({0, 0, 0, 0}, 1);
    p.forward.q.set({0, 0, 1, 0}, 1);
    p.forward.k.set({0, 0, 1, 0}, kInfinity);
  });
  EXPECT_EQ(classes(up.dv, 1), kUnbounded);
  EXPECT_EQ(classes(up.dv, 0), kFinite);
  const Truth down = truth_with(BackwardMode::gradient, [](BackwardProblem& p) {
    p.forward.q.set({0, 0, 0, 0}, 1);
    p.forward.q.set({0, 0, 1, 0}, 1);
    p.forward.k.set({0, 0, 1, 0}, -kInfinity);
  });
  EXPECT_EQ(classes(down.dq, 0), kFinite | kNaN);  // 0 · inf
  EXPECT_EQ(classes(down.dv, 0), kFinite);
  EXPECT_EQ(down.dv[2].hi, 0);
}

Truth truth_with_lse_of(double lse) {
  return truth_with(BackwardMode::stage, [&](BackwardProblem& p) {
    p.lse.set({0, 0, 0}, lse);
    for (std::int64_t c = 0; c < 2; ++c) p.d_out.set({0, 0, 0, c}, 1);
  });
}

TEST(BackwardSpecial, what_is_too_large_for_a_double_has_the_class_of_its_infinity) {
  const Truth truth = truth_with_lse_of(-1e8);
  EXPECT_EQ(classes(truth.dv, 0), kPosInf);
  EXPECT_EQ(truth.inconclusive, 0);
}

TEST(BackwardSpecial, what_is_too_large_for_mpfr_is_inconclusive_where_its_sign_is_open) {
  const Truth truth = truth_with_lse_of(-1e30);
  EXPECT_EQ(classes(truth.dv, 0), kPosInf);
  EXPECT_GT(truth.inconclusive, 0);
  EXPECT_EQ(truth.dq[0].radius, kInfinity);
}

TEST(BackwardSpecial, a_problem_beyond_the_memory_limit_is_refused_with_the_figure) {
  EXPECT_THROW(backward_truth(small(BackwardMode::stage), Format::f32, {.memory_limit = 100}), UsageError);
}

}  // namespace
}  // namespace flashproof
