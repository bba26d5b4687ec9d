// Each term of the bound with the case that uses it up, and declarations one step too optimistic, which must be caught.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/bound/backward/test/attack.h"
#include "reference/oracle/backward/backward_problems.h"
#include "reference/oracle/test/test_problems.h"

namespace flashproof {
namespace {

using test::Attack;
enum Term { weights, numerator, denominator, output };

BackwardArithmetic plain() {
  return {.exp_error = 0x1p-22, .dot = {.chains = 1}, .products = {.chains = 1}, .row_sum = {.chains = 1}};
}

/// One head; values in [0.5, 1) or of normal law; o and lse of the forward, stored in the format of q.
BackwardProblem scene(std::uint64_t seed, Format format, BackwardMode mode, bool positive, std::int64_t sk = 24) {
  Random random(seed, 5);
  const test::Draw draw =
      positive ? test::Draw([&] { return random.uniform(0.5, 1); }) : test::Draw([&] { return random.normal(); });
  BackwardProblem p;
  p.forward = test::attention(format, {.q_heads = 1, .k_heads = 1, .sq = 4, .sk = sk, .d = 4, .dv = 4},
                              test::normal(random), draw, draw);
  p.forward.scale = 0.5F;
  p.d_out = test::filled(format, {1, 1, 4, 4}, draw);
  p.mode = mode;
  test::fill_forward(p, format);
  return p;
}

/// q = 0 and lse = 0: every weight is exactly 1, and dv_jc = Σ_i dO_ic.
BackwardProblem unit_weights(Format format, std::int64_t sq, const test::Draw& d_out) {
  BackwardProblem p;
  const auto zero = [] { return 0.0; };
  p.forward =
      test::attention(format, {.q_heads = 1, .k_heads = 1, .sq = sq, .sk = 1, .d = 1, .dv = 1}, zero, zero, zero);
  p.d_out = test::filled(format, {1, 1, sq, 1}, d_out);
  p.o = test::filled(format, {1, 1, sq, 1}, zero);
  p.lse = test::filled(Format::f32, {1, 1, sq}, zero);
  return p;
}

Attack honest(const BackwardProblem& p, const BackwardArithmetic& a, const BackwardRoundings& roundings = {}) {
  return test::attack(p, a, a, test::rounding_errors(p, p.o.format), roundings);
}

TEST(BackwardAttack, exponentials_that_lean_the_same_way_use_up_the_weights_of_all_three_outputs) {
  BackwardArithmetic a = plain();
  a.exp_error = 0x1p-5;
  Attack total;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const BackwardProblem p = scene(seed, Format::f32, BackwardMode::stage, seed % 2 == 0);
    for (const BackwardTarget target : {BackwardTarget::dq, BackwardTarget::dk, BackwardTarget::dv}) {
      total += honest(p, a, {.lean = Lean::aligned, .target = target});
    }
  }
  EXPECT_EQ(total.violations(), 0);
  EXPECT_GT(total.dq.by_term[weights], 0.9) << total.text();
  EXPECT_GT(total.dk.by_term[weights], 0.9);
  EXPECT_GT(total.dv.by_term[weights], 0.9);
}

TEST(BackwardAttack, storage_of_p_and_ds_at_the_middle_of_two_numbers_uses_up_the_numerator) {
  BackwardArithmetic a = plain();
  a.exp_error = 0;
  a.p = a.ds = Format::bf16;
  const double middle = 1 + 0x1p-8 - 0x1p-23;  // rounds down to 1
  BackwardProblem of_dq = unit_weights(Format::f32, 1, [] { return 1.0; });
  of_dq.forward.k.set({0, 0, 0, 0}, 1);
  of_dq.forward.v.set({0, 0, 0, 0}, middle);
  const Attack dq = honest(of_dq, a);
  EXPECT_EQ(dq.violations(), 0);
  EXPECT_GT(dq.dq.by_term[numerator], 0.99) << dq.text();
  BackwardProblem of_dk = of_dq;
  of_dk.forward.k.set({0, 0, 0, 0}, 0);
  of_dk.forward.q.set({0, 0, 0, 0}, 1);
  EXPECT_GT(honest(of_dk, a).dk.by_term[numerator], 0.99);
  BackwardProblem of_dv = of_dq;
  of_dv.lse.set({0, 0, 0}, -std::log1p(0x1p-8 - 0x1p-15));
  EXPECT_GT(honest(of_dv, a).dv.by_term[numerator], 0.98);
}

TEST(BackwardAttack, a_long_sum_that_stagnates_uses_up_the_numerator_and_a_shorter_declared_one_is_caught) {
  // 1 + 1023 · (u − a little): every addend is lost whole.
  BackwardArithmetic a = plain();
  a.exp_error = 0;
  const BackwardProblem p = unit_weights(Format::f32, 1024, [n = 0]() mutable { return n++ == 0 ? 1.0 : 0x1.fp-25; });
  const Attack one = honest(p, a);
  EXPECT_EQ(one.violations(), 0);
  EXPECT_GT(one.dv.by_term[numerator], 0.9) << one.text();
  BackwardArithmetic declared = a;
  declared.dv.block = 512;  // half of the roundings, and one
  EXPECT_EQ(test::attack(p, a, declared, {}, {}).dv.violations, 1);
}

/// o off by `relative`, all in the direction of dO: what a biased rounding does to D.
BackwardProblem biased_o(std::uint64_t seed, double relative) {
  BackwardProblem p = scene(seed, Format::f32, BackwardMode::gradient, true);
  for (std::int64_t i = 0; i < 4; ++i) {
    for (std::int64_t c = 0; c < 4; ++c) p.o.set({0, 0, i, c}, p.o.at({0, 0, i, c}) * (1 + relative));
  }
  return p;
}

TEST(BackwardAttack, an_error_of_o_aligned_with_the_output_gradient_uses_up_the_denominator) {
  const BackwardProblem p = biased_o(3, 0x1p-9);
  const Attack one = test::attack(p, plain(), plain(), test::rounding_errors(p, Format::bf16), {});
  EXPECT_EQ(one.violations(), 0);
  EXPECT_GT(one.dq.by_term[denominator], 0.45) << one.text();  // 2^-9 of the allowed 2^-8
  EXPECT_GT(one.dk.by_term[denominator], 0.3);
}

TEST(BackwardAttack, the_rounding_of_the_scaled_sum_is_seen_beside_the_three_others) {
  // fl(τ·sum) before a narrower storage is u of |dq|; products and dS cost at least 3u, so this term never rules alone.
  BackwardArithmetic a = plain();
  a.exp_error = 0;
  Attack total;
  double with = 0, without = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed, 7);
    BackwardProblem p = unit_weights(Format::bf16, 1, [&] { return random.uniform(1, 2); });
    p.forward.k.set({0, 0, 0, 0}, random.uniform(1, 2));
    p.forward.v.set({0, 0, 0, 0}, 1);
    p.forward.scale = static_cast<float>(random.uniform(1, 2));
    total += honest(p, a);
    const ElementBound b = backward_bound(p, a).dq[0];
    with = b.output;
    without = b.total() - b.output;
  }
  EXPECT_EQ(total.violations(), 0);
  EXPECT_GT(with, 0.15 * without);
  EXPECT_GT(total.dq.worst, 0.15);  // all other operations are exact here: what is used is the output's u
}

TEST(BackwardAttack, weights_below_the_format_are_lost_whole_and_charged_once) {
  BackwardArithmetic a = plain();
  a.p = Format::f16;
  BackwardProblem p = unit_weights(Format::f32, 1, [] { return 1.0; });
  p.lse.set({0, 0, 0}, 25.6F * 0.6931472F);  // P = 2^-25.6, stored as 0
  const Attack one = honest(p, a);
  EXPECT_EQ(one.violations(), 0);
  EXPECT_GT(one.dv.by_term[numerator], 0.99) << one.text();
  BackwardArithmetic wider = a;
  wider.p = Format::bf16;
  EXPECT_EQ(test::attack(p, a, wider, {}, {}).dv.violations, 1);
}

// Negative controls: what is executed is one step worse than what is declared.

int caught(const BackwardArithmetic& executed, const BackwardArithmetic& declared, Format format, bool positive) {
  Attack right, wrong;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const BackwardProblem p = scene(seed, format, BackwardMode::stage, positive, 40);
    const BackwardRoundings roundings{.lean = Lean::aligned};
    right += test::attack(p, executed, executed, {}, roundings);
    wrong += test::attack(p, executed, declared, {}, roundings);
  }
  EXPECT_EQ(right.violations(), 0) << right.text();
  return static_cast<int>(wrong.violations());
}

TEST(BackwardControl, p_stored_in_f16_but_declared_f32_is_caught) {
  BackwardArithmetic executed = plain();
  executed.p = Format::f16;
  EXPECT_GT(caught(executed, plain(), Format::f32, true), 0);
}

TEST(BackwardControl, ds_stored_in_bf16_but_declared_f16_is_caught) {
  BackwardArithmetic executed = plain(), declared = plain();
  executed.ds = Format::bf16;
  declared.ds = Format::f16;
  EXPECT_GT(caught(executed, declared, Format::f32, true), 0);
}

TEST(BackwardControl, half_the_error_of_the_exponential_is_caught) {
  BackwardArithmetic executed = plain(), declared = plain();
  executed.exp_error = 0x1p-10;
  declared.exp_error = 0x1p-11;
  EXPECT_GT(caught(executed, declared, Format::f32, true), 0);
}

TEST(BackwardControl, a_matrix_unit_with_two_bits_fewer_than_declared_is_caught) {
  // 1 and fifteen numbers just below the last bit that alignment keeps.
  BackwardArithmetic executed = plain();
  executed.exp_error = 0;
  executed.p = Format::f16;
  executed.dv.products = {.unit = {.k = 16, .f = 10, .ofb = 10}};
  BackwardArithmetic declared = executed;
  declared.dv.products.unit = {.k = 16, .f = 12, .ofb = 12};
  const BackwardProblem p = unit_weights(Format::f16, 16, [n = 0]() mutable { return n++ == 0 ? 1.0 : 0x1.ffcp-11; });
  const Attack one = honest(p, executed);
  EXPECT_EQ(one.violations(), 0);
  EXPECT_GT(one.dv.by_term[numerator], 0.7) << one.text();
  EXPECT_EQ(test::attack(p, executed, declared, {}, {}).dv.violations, 1);
}

TEST(BackwardControl, o_in_bf16_declared_f32_biases_d_and_is_caught) {
  // arXiv 2510.04212: o rounded to bf16, D = rowsum(dO·o) off, and with it a rank-one error of dq.
  std::int64_t honest_violations = 0, found = 0, of_dq = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    BackwardProblem p = scene(seed, Format::f32, BackwardMode::gradient, true);
    test::fill_forward(p, Format::bf16);
    honest_violations += test::attack(p, plain(), plain(), test::rounding_errors(p, Format::bf16), {}).violations();
    const Attack lie = test::attack(p, plain(), plain(), test::rounding_errors(p, Format::f32), {});
    found += lie.violations();
    of_dq += lie.dq.violations;
    EXPECT_EQ(lie.dv.violations, 0);  // no D in dv
  }
  EXPECT_EQ(honest_violations, 0);
  EXPECT_GT(of_dq, 40);  // of 160
  EXPECT_GT(found, of_dq);
}

TEST(BackwardControl, an_error_of_lse_that_is_not_declared_is_caught) {
  BackwardProblem p = scene(1, Format::f32, BackwardMode::gradient, true);
  for (std::int64_t i = 0; i < 4; ++i) p.lse.set({0, 0, i}, p.lse.at({0, 0, i}) + 0x1p-9);
  ForwardErrors errors = test::rounding_errors(p, Format::f32);
  EXPECT_GT(test::attack(p, plain(), plain(), errors, {}).dv.violations, 0);
  for (double& lse : errors.lse) lse += 0x1p-9;
  const Attack one = test::attack(p, plain(), plain(), errors, {});
  EXPECT_EQ(one.violations(), 0);
  EXPECT_GT(one.dv.by_term[weights], 0.8) << one.text();
  EXPECT_GT(one.dq.by_term[weights], 0.8);  // the whole row of dq by one factor
}

TEST(BackwardControl, flushed_subnormals_declared_gradual_are_caught) {
  BackwardArithmetic flush = plain();
  flush.underflow = Underflow::flush;
  BackwardProblem p = unit_weights(Format::f32, 1, [] { return 1.0; });
  p.lse.set({0, 0, 0}, 87.34);  // P just below 2^-126
  EXPECT_EQ(test::attack(p, flush, plain(), {}, {.lean = Lean::down}).dv.violations, 1);
  const Attack one = honest(p, flush, {.lean = Lean::down});
  EXPECT_EQ(one.violations(), 0);
  EXPECT_GT(one.dv.worst, 0.15) << one.text();  // one of the six flushes that are charged
}

}  // namespace
}  // namespace flashproof
