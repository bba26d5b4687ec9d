// Preconditions of rows and keys: each with a problem beyond it, where the declaration, executed, has no number.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "reference/bound/backward/test/attack.h"
#include "reference/oracle/backward/backward_problems.h"

namespace flashproof {
namespace {

/// One head of `queries` x `keys`, every width 1, every number 0 but those of dO: 1.
BackwardProblem zeros(Format format, std::int64_t queries, std::int64_t keys, BackwardMode mode) {
  BackwardProblem p{.forward = {}, .d_out = {}, .o = {}, .lse = {}, .mode = mode};
  p.forward.q = Tensor::dense(format, {1, 1, queries, 1});
  p.forward.k = p.forward.v = Tensor::dense(format, {1, 1, keys, 1});
  p.d_out = p.forward.q;
  p.forward.plan = ChunkPlan::uniform(keys, keys);
  for (Tensor* tensor : {&p.forward.q, &p.forward.k, &p.forward.v}) {
    for (std::int64_t n = 0; n < tensor->elements(); ++n) tensor->set_bits(n, 0);
  }
  for (std::int64_t i = 0; i < queries; ++i) p.d_out.set({0, 0, i, 0}, 1);
  test::fill_forward(p, format);
  return p;
}

BackwardArithmetic named(const std::string& name) {
  for (const auto& declared : test::declared_backward(Format::f32)) {
    if (declared.name == name) return declared.arithmetic;
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(BackwardDomain, a_folded_scale_stays_below_the_f32_range) {
  BackwardProblem p;
  p.forward.q = p.forward.k = p.forward.v = p.d_out = p.o = Tensor::dense(Format::bf16, {1, 1, 1, 1});
  p.lse = Tensor::dense(Format::f32, {1, 1, 1});
  for (Tensor* tensor : {&p.forward.q, &p.forward.k, &p.forward.v, &p.d_out}) tensor->set({0, 0, 0, 0}, 0x1p-64);
  p.forward.plan = ChunkPlan::uniform(1, 1);
  int raw = 0;
  for (const auto& [name, arithmetic] : test::declared_backward(Format::bf16)) {
    if (arithmetic.unit != ScoreUnit::raw) continue;
    ++raw;
    for (const float scale : {0x1.6p127F, 0x1.8p127F}) {  // times log2 e: 2^127.99 and 2^128.11
      p.forward.scale = scale;
      test::fill_forward(p, Format::bf16);
      const Bound bound = backward_bound(p, arithmetic, {});
      EXPECT_EQ(bound.query_domain[0].holds(), scale < 0x1.7p127F) << name;
      EXPECT_EQ(bound.key_domain[0].holds(), scale < 0x1.7p127F) << name;
    }
  }
  EXPECT_GT(raw, 0);
}

// k times fl(sqrt(tau)) is infinite for key 1 alone, and so is its P; D of the weights is a sum over both keys, and dS of
// key 0 reads it. D of dO·o reads no P: key 0 keeps its domain.
TEST(BackwardDomain, d_of_the_weights_takes_every_p_of_the_row_into_the_domain_of_each_key) {
  BackwardProblem p = zeros(Format::f32, 1, 2, BackwardMode::gradient);
  p.forward.scale = 4;
  p.forward.q.set({0, 0, 0, 0}, 0x1p-140);
  p.forward.k.set({0, 0, 0, 0}, 1);
  p.forward.k.set({0, 0, 1, 0}, 0x1p127);
  p.forward.v.set({0, 0, 0, 0}, 2);
  p.forward.v.set({0, 0, 1, 0}, 1);
  test::fill_forward(p, Format::f32);
  const ForwardErrors errors = test::rounding_errors(p, Format::f32);
  const BackwardArithmetic of_weights = named("kept, factors scaled");
  const Bound bound = backward_bound(p, of_weights, errors);
  EXPECT_TRUE(std::isinf(run_backward_model(p, of_weights).dk[0]));
  EXPECT_FALSE(bound.key_domain[0].holds());
  EXPECT_FALSE(bound.key_domain[1].holds());
  EXPECT_FALSE(bound.query_domain[0].holds());

  BackwardArithmetic of_output = of_weights;
  of_output.delta = DeltaSum::output;
  EXPECT_TRUE(backward_bound(p, of_output, errors).key_domain[0].holds());
  EXPECT_EQ(test::attack(p, of_output, of_output, errors, {}).dk.violations, 0);
  EXPECT_EQ(test::attack(p, of_output, of_output, errors, {}).dk.elements, 1);

  p.forward.k.set({0, 0, 1, 0}, 0x1p126);
  test::fill_forward(p, Format::f32);
  const test::Attack inside = test::attack(p, of_weights, of_weights, test::rounding_errors(p, Format::f32), {});
  EXPECT_EQ(inside.dk.elements, 2);
  EXPECT_EQ(inside.violations(), 0) << inside.text();
}

// dP = D = 2^120 and P = 2^10: t is 0 and P·t with it, but products apart are inf - inf.
TEST(BackwardDomain, products_apart_stay_below_the_f32_range_each) {
  BackwardProblem p = zeros(Format::f32, 1, 1, BackwardMode::stage);
  p.forward.v.set({0, 0, 0, 0}, 0x1p120);
  p.o = p.forward.v;
  p.lse.set({0, 0, 0}, -10 * std::log(2.0));
  const BackwardArithmetic apart = named("narrow dP, stored P");
  ASSERT_TRUE(apart.apart);
  EXPECT_TRUE(std::isnan(run_backward_model(p, apart).dk[0]));
  const Bound bound = backward_bound(p, apart);
  EXPECT_FALSE(bound.key_domain[0].holds());
  EXPECT_FALSE(bound.query_domain[0].holds());

  BackwardArithmetic one_product = apart;
  one_product.apart = false;
  EXPECT_TRUE(backward_bound(p, one_product).key_domain[0].holds());
  const test::Attack together = test::attack(p, one_product, one_product, {}, {});
  EXPECT_EQ(together.dk.elements, 1);
  EXPECT_EQ(together.violations(), 0) << together.text();
}

// seed 2763 of extreme_test.cc: lse = +inf gives every key the weight 0, and yet fl(scale·log2 e) = inf makes its score inf.
TEST(BackwardDomain, a_folded_scale_is_a_precondition_of_keys_without_a_weight_too) {
  BackwardProblem p = zeros(Format::f32, 1, 2, BackwardMode::stage);
  p.forward.q.set({0, 0, 0, 0}, 0x1p-64);
  for (const std::int64_t j : {0, 1}) p.forward.k.set({0, 0, j, 0}, 0x1p-64);
  p.lse.set({0, 0, 0}, std::numeric_limits<double>::infinity());
  BackwardArithmetic raw = named("fused");
  raw.unit = ScoreUnit::raw;
  for (const float scale : {0x1.6p127F, 0x1.8p127F}) {
    p.forward.scale = scale;
    const bool finite = scale < 0x1.7p127F;
    EXPECT_EQ(std::isnan(run_backward_model(p, raw).dk[0]), !finite);
    const Bound bound = backward_bound(p, raw);
    EXPECT_EQ(bound.query_domain[0].holds(), finite);
    EXPECT_EQ(bound.key_domain[0].holds(), finite);
  }
}

/// Two queries of each of two heads and two keys, τ q·k = 1.5 and 0, under a scale that a flushing kernel reads as 0.
BackwardProblem subnormal_scale(Format format) {
  BackwardProblem p;
  p.forward.q = p.d_out = Tensor::dense(format, {1, 2, 2, 1});
  p.forward.k = p.forward.v = Tensor::dense(format, {1, 1, 2, 1});
  p.forward.scale = 0x1p-127F;
  p.forward.plan = ChunkPlan::uniform(2, 2);
  for (std::int64_t n = 0; n < 4; ++n) {
    p.forward.q.set_bits(n, encode(format, 0x1p63));
    p.d_out.set_bits(n, encode(format, 1 + n));
  }
  p.forward.k.set({0, 0, 0, 0}, 0x1.8p64);
  p.forward.k.set({0, 0, 1, 0}, 0);
  p.forward.v.set({0, 0, 0, 0}, 1);
  p.forward.v.set({0, 0, 1, 0}, -3);
  test::fill_forward(p, format);
  return p;
}

TEST(BackwardDomain, a_subnormal_scale_that_is_flushed_may_take_every_product_with_it) {
  std::vector<std::pair<std::string, BackwardArithmetic>> declared;
  BackwardArithmetic a{.exp_error = 0x1p-22, .underflow = Underflow::flush};
  declared.emplace_back("natural", a);
  a.dk.heads_apart = a.dv.heads_apart = true;
  declared.emplace_back("heads apart", a);
  a.scale = GradientScale::weights;
  declared.emplace_back("weights", a);
  a.exponent = Exponent::fused;
  a.unit = ScoreUnit::raw;
  declared.emplace_back("raw", a);
  a.exponent = Exponent::unfused;
  a.scale = GradientScale::output;
  declared.emplace_back("raw, unfused", a);
  for (const Format format : {Format::f32, Format::bf16}) {
    const BackwardProblem p = subnormal_scale(format);
    for (const auto& [name, flushed] : declared) {
      const test::Attack kept = test::attack(p, flushed, flushed, {}, {});
      EXPECT_EQ(kept.violations(), 0) << name << ": " << kept.text();
      EXPECT_EQ(kept.dv.elements, 2) << name;
      EXPECT_GT(kept.dv.worst, 0.1) << name << ": " << kept.text();
      BackwardArithmetic gradual = flushed;
      gradual.underflow = Underflow::gradual;
      const test::Attack lost = test::attack(p, flushed, gradual, {}, {});
      EXPECT_GT(lost.dq.violations, 0) << name;
      EXPECT_GT(lost.dk.violations, 0) << name;
      EXPECT_GT(lost.dv.violations, 0) << name;
      EXPECT_EQ(test::attack(p, gradual, gradual, {}, {}).violations(), 0) << name;
    }
  }
}

}  // namespace
}  // namespace flashproof
