// Magnitudes over all that is legal, and declarations over all that is covered, jointly: no violation.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <optional>

#include "reference/bound/backward/attack.h"
#include "reference/model/attack_draws.h"
#include "reference/model/attack_extreme.h"
#include "reference/oracle/backward/backward_problems.h"
#include "reference/problem/error.h"

namespace flashproof {
namespace {

#ifndef FLASHPROOF_BACKWARD_ROUNDS
#define FLASHPROOF_BACKWARD_ROUNDS 1  // the nightly build has more
#endif
constexpr int kRounds = FLASHPROOF_BACKWARD_ROUNDS;

double any_size(Random& random, Format format, double share_near_one) {
  const auto e = static_cast<int>(random.chance(share_near_one) ? random.integer(-3, 3)
                                                                : random.integer(std::ilogb(min_subnormal(format)),
                                                                                 std::ilogb(info(format).max_finite)));
  return std::ldexp(random.uniform(1, 2), e);
}

/// Row 0 is the problem's one query; the others have sizes of their own.
void add_queries(AttentionProblem& f, std::int64_t rows, Random& random) {
  const auto repeated = [rows](const Tensor& one) {
    Tensor all = Tensor::dense(one.format, {1, 1, rows, one.shape[3]});
    for (std::int64_t n = 0; n < all.elements(); ++n) all.set_bits(n, one.bits(n % one.shape[3]));
    return all;
  };
  f.q = repeated(f.q);
  if (f.has_bias()) f.bias = repeated(f.bias);
  for (std::int64_t i = 1; i < rows; ++i) {
    const double by = random.chance(0.5) ? random.uniform(-1, 1) : any_size(random, f.q.format, 0.5);
    for (std::int64_t c = 0; c < f.head_dim(); ++c) attack::put(f.q, i * f.head_dim() + c, f.q.at({0, 0, i, c}) * by);
  }
}

/// Of a stage whatever numbers are legal: weights far above 1 and far below, D near dP or far from it.
void put_any_stage(BackwardProblem& p, Random& random) {
  for (std::int64_t i = 0; i < p.lse.elements(); ++i) {
    const double by = random.chance(0.5) ? random.uniform(-90, 90) : random.uniform(-2, 2);
    attack::put(p.lse, i, p.lse.at({0, 0, i}) + by);
  }
  if (random.chance(0.5)) return;
  for (std::int64_t n = 0; n < p.o.elements(); ++n)
    attack::put(p.o, n, random.normal() * any_size(random, p.o.format, 0.3));
}

/// Magnitudes over all that is legal, jointly, of what a gradient takes: reference/model/attack_extreme.h.
std::optional<BackwardProblem> extreme_backward(std::uint64_t seed) {
  AttentionProblem forward = std::get<AttentionProblem>(attack::extreme(ProblemKind::attention, seed).problem);
  const Format format = forward.q.format;
  if (info(format).bits == 8 || forward.k.format != format) return {};
  forward.softcap = 0;
  forward.sink = forward.q_descale = forward.k_descale = forward.v_descale = {};
  Random random(seed, 77), shape(seed, 79);
  const std::int64_t rows = shape.chance(0.5) ? 1 : shape.integer(2, 4);
  add_queries(forward, rows, shape);
  BackwardProblem p{.forward = forward,
                    .d_out = Tensor::dense(format, {1, 1, rows, forward.value_dim()}),
                    .o = Tensor::dense(format, {1, 1, rows, forward.value_dim()}),
                    .lse = Tensor::dense(Format::f32, {1, 1, rows}),
                    .mode = random.chance(0.5) ? BackwardMode::stage : BackwardMode::gradient};
  const double size = any_size(random, format, 0.5);
  for (std::int64_t c = 0; c < p.d_out.elements(); ++c) {
    const double value = (shape.chance(0.9) ? size : any_size(shape, format, 0.5)) * random.uniform(1, 2);
    attack::put(p.d_out, c, value * (random.chance(0.5) ? 1 : -1));
  }
  test::fill_forward(p, format);
  for (std::int64_t i = 0; i < rows; ++i) {
    if (!std::isfinite(p.lse.at({0, 0, i}))) return {};
  }
  if (p.mode == BackwardMode::stage && shape.chance(0.5)) put_any_stage(p, shape);
  return p;
}

Products any_products(Random& random, bool unit) {
  if (!unit || random.chance(0.4)) return {.chains = static_cast<int>(random.integer(1, 4))};
  const BlockFma coarse{.k = 4, .f = 13, .ofb = 13};
  return {.unit = random.chance(0.7) ? kHopperF16 : coarse};
}

Accumulation any_accumulation(Random& random, bool unit, bool keys) {
  Accumulation sum{.products = any_products(random, unit), .block = static_cast<int>(random.integer(0, 3))};
  sum.heads_apart = keys && random.chance(0.5);
  if (sum.heads_apart) sum.partial = attack::any_of(random, {Format::f32, Format::f16, Format::bf16});
  sum.heads_any = sum.heads_apart && random.chance(0.5);
  return sum;
}

/// Any fields together that README.md covers for this problem.
BackwardArithmetic any_declaration(Random& random, const BackwardProblem& problem) {
  const AttentionProblem& f = problem.forward;
  const auto format = [&] {
    return random.chance(0.5) ? Format::f32 : attack::any_of(random, {Format::f16, Format::bf16});
  };
  BackwardArithmetic a;
  a.exponent = attack::any_of(random, {Exponent::accurate, Exponent::scaled_exp2, Exponent::fused, Exponent::unfused});
  const bool folded = a.exponent == Exponent::fused || a.exponent == Exponent::unfused;
  const bool raw = folded && !f.has_bias() && !f.has_alibi() && f.scale > 0 && random.chance(0.5);
  a.unit = raw ? ScoreUnit::raw : ScoreUnit::natural;
  a.exp_error = attack::any_of(random, {0x1p-23, 0x1p-22, 0x1p-3});
  a.p = format();
  a.ds = format();
  a.dp = format();
  a.scale = random.chance(0.5) ? GradientScale::weights : GradientScale::output;
  a.factors_scaled = !raw && a.scale == GradientScale::output && random.chance(0.5);
  a.stored_weights = random.chance(0.5);
  a.apart = random.chance(0.5);
  const bool gradient = problem.mode == BackwardMode::gradient;
  a.delta = gradient && random.chance(0.5) ? DeltaSum::weights : DeltaSum::output;
  a.underflow = random.chance(0.3) ? Underflow::flush : Underflow::gradual;
  const bool narrow = f.q.format != Format::f32, factors = narrow && !a.factors_scaled;
  a.dot = any_products(random, factors);
  a.products = any_products(random, narrow);
  a.row_sum = any_products(random, narrow && a.delta == DeltaSum::output);
  a.dq = any_accumulation(random, factors && a.ds != Format::f32, false);
  a.dk = any_accumulation(random, factors && a.ds != Format::f32, true);
  a.dv = any_accumulation(random, narrow && a.p != Format::f32, true);
  return a;
}

/// Not violations(): a key that is out of its domain may be lost, its dk and dv 0. Those elements alone are left out.
void expect_none(const test::Attack& one, std::uint64_t seed, const std::string& name) {
  for (const auto* out : {&one.dq, &one.dk, &one.dv}) {
    EXPECT_EQ(out->violations, 0) << "seed " << seed << ", " << name << ": " << one.text();
  }
}

TEST(BackwardExtreme, problems_stay_within_their_bounds) {
  int made = 0;
  test::Attack named, drawn;
  for (std::uint64_t seed = 0; seed < 2000 * kRounds; ++seed) {
    const std::optional<BackwardProblem> problem = extreme_backward(seed);
    if (!problem) continue;
    ++made;
    Random random(seed, 78);
    const ForwardErrors forward = test::rounding_errors(*problem, problem->o.format);
    const auto run = [&](const BackwardArithmetic& a, const std::string& name, test::Attack& total) {
      if (!test::takes(a, *problem) || (a.unit == ScoreUnit::raw && problem->forward.scale <= 0)) return;
      try {
        const test::Attack one = test::attack(*problem, a, a, forward, test::any_roundings(random));
        expect_none(one, seed, name);
        total += one;
      } catch (const UsageError&) {
        // a subnormal scale, by name
      }
    };
    for (const auto& [name, a] : test::declared_backward(problem->forward.q.format)) run(a, name, named);
    for (int n = 0; n < 4; ++n) run(any_declaration(random, *problem), "drawn " + std::to_string(n), drawn);
  }
  EXPECT_GT(made, 300 * kRounds);
  EXPECT_GT(named.dk.elements, 0);
  EXPECT_GT(drawn.dk.elements, 0);
  std::printf("[ extreme ] %d problems, named: %s\n[ extreme ] drawn: %s\n", made, named.text().c_str(),
              drawn.text().c_str());
}

}  // namespace
}  // namespace flashproof
