// No violation on random and hard problems, for every declaration, whichever way its exponentials lean.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "reference/bound/backward/test/attack.h"
#include "reference/oracle/backward/backward_problems.h"
#include "reference/oracle/test/test_problems.h"

namespace flashproof {
namespace {

#ifndef FLASHPROOF_BACKWARD_ROUNDS
#define FLASHPROOF_BACKWARD_ROUNDS 1  // the nightly build has more
#endif
constexpr int kRounds = FLASHPROOF_BACKWARD_ROUNDS;
constexpr Format kFormats[] = {Format::f32, Format::f16, Format::bf16};

void sweep(const BackwardProblem& problem, Random& random, std::vector<test::Attack>& totals, const std::string& what) {
  const ForwardErrors forward = test::rounding_errors(problem, problem.o.format);
  const auto declarations = test::declared_backward(problem.forward.q.format);
  for (std::size_t n = 0; n < declarations.size(); ++n) {
    if (!test::takes(declarations[n].arithmetic, problem)) continue;
    const BackwardArithmetic& a = declarations[n].arithmetic;
    const test::Attack one = test::attack(problem, a, a, forward, test::any_roundings(random));
    EXPECT_EQ(one.violations(), 0) << what << ", " << declarations[n].name << ": " << one.text();
    totals[n] += one;
  }
}

void print(const std::vector<test::Attack>& totals, const char* what) {
  const auto names = test::declared_backward(Format::f16);
  for (std::size_t n = 0; n < totals.size(); ++n) {
    EXPECT_GT(totals[n].dq.elements, 0) << names[n].name;
    std::printf("[ %s ] %-20s %s\n", what, names[n].name.c_str(), totals[n].text().c_str());
  }
}

void sweep_random(int problems, int stream) {
  std::vector<test::Attack> totals(test::declared_backward(Format::f16).size());
  for (int n = 0; n < problems; ++n) {
    Random random(static_cast<std::uint64_t>(stream), static_cast<std::uint64_t>(n));
    const BackwardProblem problem = test::random_backward(random, kFormats[n % 3]);
    sweep(problem, random, totals, "random " + std::to_string(n));
  }
  print(totals, "random");
}

void sweep_hard(int rounds, int stream) {
  std::vector<test::Attack> totals(test::declared_backward(Format::f16).size());
  for (const test::BackwardKind& kind : test::hard_backward_kinds()) {
    for (int n = 0; n < rounds; ++n) {
      Random random(static_cast<std::uint64_t>(stream), static_cast<std::uint64_t>(n));
      const BackwardProblem problem = kind.make(random, kFormats[n % 3]);
      sweep(problem, random, totals, kind.name + " " + std::to_string(n));
    }
  }
  print(totals, "hard  ");
}

TEST(BackwardSweep, random_problems_stay_inside_every_bound) { sweep_random(60 * kRounds, 21); }
TEST(BackwardSweep, hard_problems_stay_inside_every_bound) { sweep_hard(6 * kRounds, 22); }

TEST(BackwardSweep, a_production_like_shape_is_inside_its_bounds_and_they_are_not_vacuous) {
  std::vector<test::Attack> totals(test::declared_backward(Format::f16).size());
  Random random(23, 1);
  BackwardProblem p;
  p.forward = test::attention(Format::bf16, {.q_heads = 1, .k_heads = 1, .sq = 2, .sk = 256, .d = 64, .dv = 64},
                              test::normal(random), test::normal(random), test::normal(random));
  p.forward.scale = 0.125F;
  p.d_out = test::filled(Format::bf16, {1, 1, 2, 64}, test::normal(random));
  p.mode = BackwardMode::gradient;
  test::fill_forward(p, Format::bf16);
  sweep(p, random, totals, "256 keys");
  print(totals, "256 x 64");
  const Bound bound =
      backward_bound(p, test::declared_backward(Format::bf16)[8].arithmetic, test::rounding_errors(p, Format::bf16));
  for (const ElementBound& b : bound.dv) EXPECT_LT(b.total(), 0.05 * b.size);
}

}  // namespace
}  // namespace flashproof
