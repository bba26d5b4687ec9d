// What backward_bound() refuses, and special values.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <vector>

#include "reference/bound/backward/accumulation.h"
#include "reference/bound/backward/pair_row.h"
#include "reference/bound/backward/test/attack.h"
#include "reference/bound/row/row_model.h"
#include "reference/model/block_fma.h"
#include "reference/oracle/backward/backward_problems.h"
#include "reference/oracle/test/test_problems.h"
#include "reference/problem/special_values.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

BackwardProblem small(Format format = Format::f32) {
  Random random(8, 2);
  BackwardProblem p;
  p.forward = test::attention(format, {.q_heads = 2, .k_heads = 1, .sq = 2, .sk = 3, .d = 2, .dv = 2},
                              test::normal(random), test::normal(random), test::normal(random));
  p.d_out = test::filled(format, {1, 2, 2, 2}, test::normal(random));
  test::fill_forward(p, format);
  return p;
}

template <class Error>
void refused(const std::function<void(BackwardProblem&, BackwardArithmetic&, ForwardErrors&)>& change,
             const std::string& word) {
  BackwardProblem p = small();
  BackwardArithmetic a{.exp_error = 0x1p-22};
  ForwardErrors forward;
  EXPECT_NO_THROW(backward_bound(p, a, forward));
  change(p, a, forward);
  try {
    backward_bound(p, a, forward);
    ADD_FAILURE() << "accepted: " << word;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
}

TEST(BackwardDeclaration, what_no_section_covers_is_refused_by_name) {
  using Wrong = std::invalid_argument;
  refused<Wrong>([](auto&, auto& a, auto&) { a.exponent = Exponent::subtract_then_scale; }, "exponent");
  refused<Wrong>([](auto&, auto& a, auto&) { a.unit = ScoreUnit::raw; }, "unit");
  refused<Wrong>([](auto&, auto& a, auto&) { a.exp_error = 0.5; }, "exp_error");
  refused<Wrong>([](auto&, auto& a, auto&) { a.exp_error = std::nan(""); }, "exp_error");
  refused<Wrong>([](auto&, auto& a, auto&) { a.p = Format::e4m3fn; }, "formats");
  refused<Wrong>([](auto&, auto& a, auto&) { a.dq.heads_apart = true; }, "heads_apart");
  refused<Wrong>([](auto&, auto& a, auto&) { a.dk.block = -1; }, "block");
  refused<Wrong>([](auto&, auto& a, auto&) { a.dot.chains = 0; }, "dot: chains");
  refused<Wrong>([](auto&, auto& a, auto&) { a.dv.products.promote = 4; }, "promote");
  refused<Wrong>([](auto&, auto& a, auto&) { a.dot.tf32_inputs = true; }, "tf32");
  refused<Wrong>([](auto&, auto& a, auto&) { a.dot.unit = kHopperF16; }, "dot.unit");
  refused<Wrong>([](auto&, auto& a, auto&) { a.dp = Format::e5m2; }, "formats");
  refused<Wrong>([](auto&, auto& a, auto&) { a.dk.heads_any = true; }, "heads_any");
  refused<Wrong>([](auto&, auto& a, auto&) { a.factors_scaled = true, a.scale = GradientScale::weights; },
                 "factors_scaled");
  refused<Wrong>([](auto&, auto& a, auto&) { a.delta = DeltaSum::weights; }, "delta");  // small() is a stage
  refused<Wrong>([](auto&, auto& a, auto&) { a.dq.products.unit = {.k = 16, .f = 0}; }, "dq.products: unit");
  refused<Wrong>([](auto&, auto&, auto& f) { f.lse = {0}; }, "forward errors");
  refused<Wrong>([](auto& p, auto&, auto&) { p.mode = BackwardMode::gradient; }, "forward errors");
  refused<Wrong>(
      [](auto& p, auto&, auto& f) {
        p.mode = BackwardMode::gradient;
        f.lse.assign(4, 0);
        f.o.assign(8, -1);
      },
      "forward errors");
}

TEST(BackwardDeclaration, factors_that_are_scaled_beforehand_are_f32_and_no_unit_multiplies_them) {
  const BackwardProblem p = small(Format::f16);
  for (const bool scaled : {false, true}) {
    BackwardArithmetic dot{.exp_error = 0x1p-22, .ds = Format::f16, .factors_scaled = scaled}, dq = dot, dk = dot;
    dot.dot.unit = dq.dq.products.unit = dk.dk.products.unit = kHopperF16;
    for (const BackwardArithmetic& a : {dot, dq, dk}) {
      if (scaled) {
        EXPECT_THROW(backward_bound(p, a), std::invalid_argument);
      } else {
        EXPECT_NO_THROW(backward_bound(p, a));
      }
    }
  }
}

// Every product 0, nothing else errs. Of the score itself: in a gradient the doubles' own error, 2^-74, hides so little.
TEST(BackwardDeclaration, what_products_of_scaled_factors_lose_does_not_shrink_with_the_scale) {
  constexpr std::int64_t kTerms = 64;
  const auto constant = [](double value) { return [value] { return value; }; };
  BackwardProblem p;
  p.forward =
      test::attention(Format::f32, {.sq = 1, .sk = 1, .d = kTerms, .dv = 1}, constant(0), constant(0), constant(1));
  p.d_out = test::filled(Format::f32, {1, 1, 1, 1}, constant(1));
  p.forward.scale = 0x1p-60F;
  test::fill_forward(p, Format::f32);
  const BackwardArithmetic a{.factors_scaled = true, .underflow = Underflow::flush};
  const backward::View view(p);
  const ForwardErrors none;
  const double error = bound::key_of(bound::PairCosts(view, a, none), 0, view.locate(0), 0).score_error.count;
  EXPECT_GE(error, kTerms * 0x1p-126);
  EXPECT_LE(error, 4 * kTerms * 0x1p-126);
}

TEST(BackwardDeclaration, a_problem_that_a_declaration_does_not_fit_is_a_usage_error) {
  const auto raw = [](BackwardArithmetic& a) {
    a.exponent = Exponent::fused;
    a.unit = ScoreUnit::raw;
  };
  refused<UsageError>(
      [&](auto& p, auto& a, auto&) {
        raw(a);
        p.forward.bias = test::filled(Format::f32, {1, 2, 2, 3}, [] { return 0.0; });
      },
      "bias");
}

TEST(BackwardDeclaration, an_infinite_error_of_the_forward_gives_an_infinite_bound_and_not_a_nan) {
  BackwardProblem p = small();
  p.mode = BackwardMode::gradient;
  ForwardErrors forward = test::rounding_errors(p, Format::f32);
  forward.o.assign(forward.o.size(), std::numeric_limits<double>::infinity());
  const Bound bound = backward_bound(p, {.exp_error = 0x1p-22}, forward);
  EXPECT_TRUE(std::isinf(bound.dq[0].denominator));
  EXPECT_TRUE(std::isfinite(bound.dv[0].total()));
}

TEST(BackwardDeclaration, special_values_get_no_bound_and_their_neighbours_keep_theirs) {
  BackwardProblem p = small();
  p.d_out.set({0, 0, 1, 0}, std::nan(""));
  const Bound bound = backward_bound(p, {.exp_error = 0x1p-22});
  EXPECT_EQ(bound.dq[2].total(), 0);  // row 1 of head 0
  EXPECT_GT(bound.dq[0].total(), 0);
  EXPECT_EQ(bound.dv[0].total(), 0);
  EXPECT_GT(bound.dv[1].total(), 0);
}

TEST(BackwardDeclaration, the_model_gives_special_values_the_class_of_the_table) {
  const double specials[] = {std::nan(""), std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity()};
  const BackwardArithmetic a{.exp_error = 0x1p-22};
  test::Attack total;
  for (std::uint64_t n = 0; n < 300; ++n) {
    Random random(40, n);
    BackwardProblem p = small();
    Tensor* const tensors[] = {&p.forward.q, &p.forward.k, &p.forward.v, &p.d_out, &p.o, &p.lse};
    for (std::int64_t changes = random.integer(1, 2); changes > 0; --changes) {
      Tensor& tensor = *tensors[random.integer(0, 5)];
      tensor.set_bits(random.integer(0, tensor.elements() - 1), encode(Format::f32, specials[random.integer(0, 2)]));
    }
    p.forward.causal = random.chance(0.5);
    const test::Attack one = test::attack(p, a, a, {}, {});
    EXPECT_EQ(one.violations(), 0) << n << ": " << one.text();
    total += one;
  }
  EXPECT_GT(total.dq.elements, 0);
}

TEST(BackwardBound, a_matrix_unit_beside_a_subnormal_accumulator_loses_what_the_declaration_allows) {
  const Products products{.unit = kHopperF16};
  const BlockFma& unit = products.unit;
  ASSERT_LE(unit.k, 64);
  // Every product is just below the 2^(-126 - F) at which the step is cut, and 1.99 times what a normal bf16 squared is.
  std::vector<float> a(unit.k, std::ldexp(1.9921875F, -76));
  std::vector<float> b(unit.k, std::ldexp(1.0F, -127 - unit.f + 76));
  const float c = 0x1p-149F;
  const double exact = c + unit.k * static_cast<double>(a[0]) * b[0];
  const double computed = block_fma(unit, {Format::bf16, Format::bf16}, c, a.data(), b.data(), unit.k);
  EXPECT_EQ(computed, c) << "all of them are cut";
  const bound::SumCost cost = bound::cost_of(products, unit.k, unit.k);
  const double allowed =
      bound::growth(cost.log_units) * exact + cost.operations * bound::lost_per_operation(products, Underflow::gradual);
  EXPECT_LE(exact - computed, allowed);
  EXPECT_GT(exact - computed, allowed / 2);
}

// seed 1859 of extreme_test.cc: a result of 8 fraction bits keeps multiples of 2^-134, not of 2^-149.
TEST(BackwardBound, a_matrix_unit_with_a_short_result_loses_up_to_its_last_subnormal_bit) {
  const Products products{.unit = {.k = 4, .f = 24, .ofb = 8}};
  const float a = std::ldexp(1.9921875F, -75), b = 0x1p-60F;
  const double exact = static_cast<double>(a) * b;
  const double computed = block_fma(products.unit, {Format::bf16, Format::bf16}, 0, &a, &b, 1);
  EXPECT_EQ(computed, 0);
  const bound::SumCost cost = bound::cost_of(products, 1, 1);
  const double relative = bound::growth(cost.log_units) * exact;
  const double lost = cost.operations * bound::lost_per_operation(products, Underflow::gradual);
  EXPECT_LE(exact, relative + lost);
  EXPECT_GT(exact, (relative + lost) / 2);
  EXPECT_GT(exact, relative + 0x1p-149 + 5 * 0x1p-150) << "a result of 23 bits loses as much";
}

// A pair without a weight is a precondition all the same: it must come out as 0.
TEST(BackwardSpecial, scores_beyond_f32_beside_an_infinite_lse_or_an_infinite_product_leave_the_domain) {
  const BackwardArithmetic a{.exp_error = 0x1p-22};
  const auto holds = [&](const BackwardProblem& p) {
    const Bound bound = backward_bound(p, a);
    return std::pair(bound.query_domain[0].holds(), bound.key_domain[0].holds());
  };
  using Both = std::pair<bool, bool>;
  BackwardProblem p = small();
  for (std::int64_t h = 0; h < 2; ++h) {
    for (std::int64_t i = 0; i < 2; ++i) p.lse.set({0, h, i}, kInfinity);
  }
  EXPECT_EQ(holds(p), Both(true, true)) << "P = e^(s - inf) = 0";
  BackwardProblem large = p;
  large.forward.q.set({0, 0, 0, 0}, 1e30);
  large.forward.k.set({0, 0, 0, 0}, 1e30);
  EXPECT_EQ(holds(large), Both(false, false)) << "inf - inf";
  large = p;
  large.d_out.set({0, 0, 0, 0}, 1e30);
  large.forward.v.set({0, 0, 0, 0}, 1e30);
  EXPECT_EQ(holds(large), Both(false, false)) << "0 * inf";
  p = small();
  p.forward.k.set({0, 0, 0, 0}, -kInfinity);
  for (std::int64_t h = 0; h < 2; ++h) {
    for (std::int64_t i = 0; i < 2; ++i) {
      for (std::int64_t c = 0; c < 2; ++c) p.forward.q.set({0, h, i, c}, 2);
    }
  }
  EXPECT_EQ(holds(p), Both(true, true)) << "-inf, and a number";
  p.forward.k.set({0, 0, 0, 1}, 3e38);
  EXPECT_EQ(holds(p), Both(false, false)) << "-inf beside 6e38";
}

}  // namespace
}  // namespace flashproof
