// One input per term of the radius that merge adds to those of softmax; see softmax_worst_test.cc.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/oracle/fp64/test/row_check.h"

namespace flashproof {
namespace {

using namespace test;

/// States of equal weight, one column. Each group is 1 and then u(1 + 2^-20) all through: every addition rounds up by
/// u(1 − 2^-20), 32 in the first group, 31 in the later ones.
MergeProblem every_addition_rounds_up(std::int64_t groups) {
  MergeProblem problem = test::merge(
      Format::f32, 32 * groups + 1, 1, 1, [] { return 0x1p-53 * (1 + 0x1p-20); }, [] { return 0.0; }, MergeForm::sum);
  for (std::int64_t g = 0; g < groups; ++g) problem.o.set({g == 0 ? 0 : 32 * g + 1, 0, 0}, 1.0);
  return problem;
}

// One group: 32u of error and of claim; L, the exact 33, has 7u of its own before it. Three: 98u of 102u behind 45u.
TEST(Fp64MergeWorst, ValueSum) {
  const Reach one = reach(every_addition_rounds_up(1), MergeTerms{.value_sum = 0});
  expect_needed(one, one.o, 0.7);
  const Reach three = reach(every_addition_rounds_up(3), MergeTerms{.value_sum = 0});
  expect_needed(three, three.o, 0.4);
}

// Two states. L = 1 + w and N = v_0 + w v_1 round by nearly u in opposite directions in some of the many columns: what the
// quotient loses then comes on top.
TEST(Fp64MergeWorst, QuotientOfTheSum) {
  Random random(1, 701);
  const MergeProblem problem = test::merge(
      Format::f32, 2, 60, 800, [&] { return 1.0 + random.uniform(); },
      [n = 0, &random]() mutable { return n++ < 60 ? 0.0 : random.uniform(-14.0, -9.0); }, MergeForm::sum);
  const Reach found = reach(problem, MergeTerms{.quotient = 0});
  expect_needed(found, found.o, 0.7);
}

// Two states with e^(lse_1 − lse_0) = u(1 + δ): L = 1 + 2u is too large by u, p_0 = 1 − 2u too small by u, and all of p's
// radius is needed. 1.51·p_0 is then rounded down by 0.49 of 2u, and that is needed too.
TEST(Fp64MergeWorst, QuotientOfABlock) {
  MergeProblem problem = test::merge(Format::f32, 2, 1, 1, [] { return 1.51; }, [] { return 0.0; }, MergeForm::concat);
  const auto x = static_cast<float>(-53 * std::log(2.0));
  problem.lse.set({1, 0}, static_cast<double>(x) > -53 * std::log(2.0) ? x : std::nextafter(x, 0.0F));
  const Reach found = reach(problem, MergeTerms{.quotient = 0});
  expect_needed(found, found.o, 0.9);
  EXPECT_GT(check(problem, test::certify(problem, MergeTerms{.quotient = 0.5}).truth).violations, 0);
}

// The weights' terms reach the merged values. A state 600 nats down with v = 1e30 beside a 0: o is its weight alone.
TEST(Fp64MergeWorst, ScoreOfAWeight) {
  for (const MergeForm form : {MergeForm::sum, MergeForm::concat}) {
    MergeProblem problem = test::merge(Format::f32, 2, 1, 1, [] { return 1e30; }, [] { return -600.0; }, form);
    problem.o.set({1, 0, 0}, 0.0);
    problem.lse.set({1, 0}, 0.99 * 0x1p-44);
    const Reach found = reach(problem, MergeTerms{.weights = {.score = 0}});
    expect_needed(found, found.o, 0.9);
  }
}

TEST(Fp64MergeWorst, Underflow) {
  for (const MergeForm form : {MergeForm::sum, MergeForm::concat}) {
    MergeProblem problem = test::merge(Format::f32, 2, 1, 1, [] { return 3e38; }, [] { return 0.0; }, form);
    problem.o.set({1, 0, 0}, 0.0);
    problem.lse.set({0, 0}, std::nextafter(-707.0F, -1000.0F));
    const Reach found = reach(problem, MergeTerms{.weights = {.underflow = 0}});
    expect_needed(found, found.o, 0.5);
  }
}

}  // namespace
}  // namespace flashproof
