// Laws of the exact gradient, and that computed ones keep them within their bounds.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/bound/backward/test/attack.h"
#include "reference/oracle/backward/backward_problems.h"
#include "reference/oracle/backward/backward_truth.h"
#include "reference/oracle/test/test_problems.h"

namespace flashproof {
namespace {

constexpr std::int64_t kSq = 3, kSk = 10, kD = 3, kDv = 2;

/// Numbers on a grid, so that shifting k is exact; column 0 of q is 0 and of k is 1.
BackwardProblem gridded(double shift, BackwardMode mode = BackwardMode::gradient) {
  Random random(31, 1);
  const auto grid = [&] { return std::round(random.normal() * 64) / 64; };
  BackwardProblem p;
  p.forward = test::attention(Format::f32, {.q_heads = 1, .k_heads = 1, .sq = kSq, .sk = kSk, .d = kD, .dv = kDv}, grid,
                              grid, grid);
  p.forward.scale = 0.75F;
  for (std::int64_t i = 0; i < kSq; ++i) p.forward.q.set({0, 0, i, 0}, 0);
  for (std::int64_t j = 0; j < kSk; ++j) {
    p.forward.k.set({0, 0, j, 0}, 1);
    for (std::int64_t c = 1; c < kD; ++c) p.forward.k.set({0, 0, j, c}, p.forward.k.at({0, 0, j, c}) + shift);
  }
  p.d_out = test::filled(Format::f32, {1, 1, kSq, kDv}, grid);
  p.mode = mode;
  test::fill_forward(p, Format::f32);
  return p;
}

BackwardArithmetic plain() {
  return {.exp_error = 0x1p-22, .dot = {.chains = 1}, .products = {.chains = 1}, .row_sum = {.chains = 1}};
}

TEST(BackwardInvariant, ds_sums_to_zero_over_the_keys_and_the_computed_sum_stays_inside_its_bound) {
  const BackwardProblem p = gridded(0);
  const Truth truth = backward_truth(p, Format::f32);
  const Bound bound = backward_bound(p, plain(), test::rounding_errors(p, Format::f32));
  const UnroundedGradients computed = run_backward_model(p, plain());
  double largest = 0;
  for (std::size_t i = 0; i < kSq; ++i) {
    const Ball ball = truth.dq[i * kD];  // against the column of ones: τ Σ_j dS_ij
    EXPECT_LE(std::fabs(ball.hi), ball.radius + std::fabs(ball.lo));
    EXPECT_LE(std::fabs(computed.dq[i * kD]), bound.dq[i * kD].total());
    EXPECT_LT(bound.dq[i * kD].total(), 1e-4);  // of dS around 1: the law says something
    largest = std::max(largest, std::fabs(computed.dq[i * kD]));
  }
  EXPECT_GT(largest, 0);
}

TEST(BackwardInvariant, an_o_that_is_off_breaks_the_sum_of_ds_and_the_law_sees_it) {
  BackwardProblem p = gridded(0);
  for (std::int64_t c = 0; c < kDv; ++c)
    p.o.set({0, 0, 1, c}, p.o.at({0, 0, 1, c}) + std::copysign(0x1p-6, p.d_out.at({0, 0, 1, c})));
  const Bound bound = backward_bound(p, plain(), test::rounding_errors(p, Format::f32));
  const UnroundedGradients computed = run_backward_model(p, plain());
  EXPECT_GT(std::fabs(computed.dq[kD]), bound.dq[kD].total());
  EXPECT_LE(std::fabs(computed.dq[0]), bound.dq[0].total());
}

TEST(BackwardInvariant, dq_does_not_change_when_every_key_is_shifted) {
  const BackwardProblem here = gridded(0), there = gridded(4);
  const Truth a = backward_truth(here, Format::f32), b = backward_truth(there, Format::f32);
  const Bound bound_a = backward_bound(here, plain(), test::rounding_errors(here, Format::f32));
  const Bound bound_b = backward_bound(there, plain(), test::rounding_errors(there, Format::f32));
  const UnroundedGradients run_a = run_backward_model(here, plain()), run_b = run_backward_model(there, plain());
  for (std::size_t n = 0; n < a.dq.size(); ++n) {
    EXPECT_LE(std::fabs(a.dq[n].hi - b.dq[n].hi), a.dq[n].radius + b.dq[n].radius);
    EXPECT_LE(std::fabs(run_a.dq[n] - run_b.dq[n]), bound_a.dq[n].total() + bound_b.dq[n].total());
  }
  EXPECT_GT(std::fabs(here.lse.at({0, 0, 0}) - there.lse.at({0, 0, 0})), 0.1);  // the scores did move
}

TEST(BackwardInvariant, dv_sums_to_the_output_gradient_over_the_keys) {
  const BackwardProblem p = gridded(0);
  const Truth truth = backward_truth(p, Format::f32);
  for (std::int64_t c = 0; c < kDv; ++c) {
    double sum = 0, radius = 0;
    for (std::int64_t j = 0; j < kSk; ++j) {
      sum += truth.dv[j * kDv + c].hi;
      radius += truth.dv[j * kDv + c].radius + 0x1p-48;
    }
    double expected = 0;
    for (std::int64_t i = 0; i < kSq; ++i) expected += p.d_out.at({0, 0, i, c});
    EXPECT_NEAR(sum, expected, radius);
  }
}

TEST(BackwardInvariant, the_error_of_d_is_rank_one_and_vanishes_where_the_weighted_mean_of_k_does) {
  // Two keys with equal scores and opposite k in column 0, equal k in column 1.
  const auto one = [] { return 1.0; };
  BackwardProblem p;
  p.forward = test::attention(
      Format::f32, {.q_heads = 1, .k_heads = 1, .sq = 1, .sk = 2, .d = 2, .dv = 1}, [] { return 0.0; }, one, one);
  p.forward.k.set({0, 0, 1, 0}, -1);
  p.forward.v.set({0, 0, 1, 0}, -1);
  p.d_out = test::filled(Format::f32, {1, 1, 1, 1}, one);
  p.mode = BackwardMode::gradient;
  test::fill_forward(p, Format::f32);
  ForwardErrors errors = test::rounding_errors(p, Format::f32);
  errors.o[0] = 0x1p-8;
  const Bound bound = backward_bound(p, plain(), errors);
  EXPECT_LT(bound.dq[0].denominator, 1e-4 * bound.dq[1].denominator);
  p.o.set({0, 0, 0, 0}, 0x1p-8);
  const UnroundedGradients computed = run_backward_model(p, plain());
  EXPECT_LE(std::fabs(computed.dq[0] - p.forward.scale), bound.dq[0].total());  // exact: ±τ
  EXPECT_GT(std::fabs(computed.dq[1]), 0.9 * bound.dq[1].total());              // exact: 0
}

}  // namespace
}  // namespace flashproof
