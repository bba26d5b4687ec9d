// One input per term of the radius on which the truth needs what the term claims: random problems hide a missing term
// behind the others. Reach (row_check.h) at least 1/4; above 0 says that dropping the term is noticed, above 1/2 that
// halving it is.
#include <gtest/gtest.h>

#include "reference/oracle/fp64/row_sums.h"
#include "reference/oracle/fp64/test/row_check.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

using rows64::kBlock;
using rows64::kVirtualLanes;
using namespace test;

/// The f32 next to log(2^-53) from above: e^x = u(1 + δ), δ < 2^-17.
double just_above_unit() {
  const auto x = static_cast<float>(-53 * std::log(2.0));
  return static_cast<double>(x) > -53 * std::log(2.0) ? x : std::nextafter(x, 0.0F);
}

/// Rows of two scores, 0 and one drawn from [low, high].
SoftmaxProblem pairs(std::uint64_t seed, std::int64_t rows, double low, double high) {
  Random random(seed, 700);
  SoftmaxProblem problem = test::softmax(Format::f32, rows, 2, [] { return 0.0; });
  for (std::int64_t r = 0; r < rows; ++r) problem.x.set({r, 1}, random.uniform(low, high));
  return problem;
}

// Two scores: exp claims 2u, the sum u, the quotient what it has. exp errs by up to 1.25u; where the sum errs in the same
// direction, the excess over the sum's claim is exp's. No reach can exceed 1.25/2.
TEST(Fp64SoftmaxWorst, Exp) {
  const Reach found = reach(pairs(1, 20000, -20.0, -10.0), SoftmaxTerms{.exp = 0});
  expect_needed(found, found.o, 0.25, 0.625);
}

// The worst of 800 000 scores in [-12, -4].
TEST(Fp64SoftmaxWorst, HalfOfExpIsNoticed) {
  SoftmaxProblem problem = pairs(1, 1, -1.0, 0.0);
  problem.x.set({0, 1}, -0x1.58a002p+3);
  const Reach found = reach(problem, SoftmaxTerms{.exp = 0});
  EXPECT_EQ(found.violations, 0);
  EXPECT_GT(found.o, 0.5);
  EXPECT_GT(check(problem, test::certify(problem, SoftmaxTerms{.exp = 0.5}).truth).violations, 0);
}

/// `blocks` blocks in which every addition to the 1 at the front rounds up by u(1 − δ): in the chain of its lane, in the
/// tree of the blocks, and in that of the lanes.
SoftmaxProblem every_addition_rounds_up(std::int64_t blocks) {
  SoftmaxProblem problem = test::softmax(Format::f32, 1, blocks * kBlock, [] { return -kInfinity; });
  const double x = just_above_unit();
  for (std::int64_t j = kVirtualLanes; j < kBlock; j += kVirtualLanes) problem.x.set({0, j}, x);
  for (const std::int64_t lane : {1, 2, 4}) problem.x.set({0, lane}, x);
  for (std::int64_t block = 1; block < blocks; ++block) problem.x.set({0, block * kBlock}, x);
  problem.x.set({0, 0}, 0.0);
  return problem;
}

TEST(Fp64SoftmaxWorst, Sum) {
  for (const std::int64_t blocks : {1, 3}) {  // h_L = 18, 20: all of them
    const Reach found = reach(every_addition_rounds_up(blocks), SoftmaxTerms{.sum = 0});
    expect_needed(found, found.o, 0.9);
    expect_needed(found, found.lse, 0.8);  // the log's own 2u stand before it
  }
  for (const std::int64_t blocks : {2, 7}) {
    EXPECT_EQ(reach(every_addition_rounds_up(blocks), SoftmaxTerms{.sum = 0}).violations, 0);
  }
}

TEST(Fp64SoftmaxWorst, HalfTheSumIsNoticed) {
  const SoftmaxProblem problem = every_addition_rounds_up(3);
  EXPECT_GT(check(problem, test::certify(problem, SoftmaxTerms{.sum = 0.5}).truth).violations, 0);
}

// The quotient claims what it has lost, so all of it is needed where the sum has taken its whole claim.
TEST(Fp64SoftmaxWorst, Quotient) {
  const Reach found = reach(pairs(2, 5000, -12.0, -8.0), SoftmaxTerms{.quotient = 0});
  expect_needed(found, found.o, 0.9);
}

// x − m = -600 − 2^-44·0.99 rounds to -600.
TEST(Fp64SoftmaxWorst, Score) {
  SoftmaxProblem problem = test::softmax(Format::f32, 1, 2, [] { return -600.0; });
  problem.x.set({0, 1}, 0.99 * 0x1p-44);
  const Reach found = reach(problem, SoftmaxTerms{.score = 0});
  expect_needed(found, found.o, 0.9);
  const auto result = test::certify(problem);
  EXPECT_NEAR(result.cause[0].score_error, 0.99 * 0x1p-44, 0x1p-60);
  EXPECT_FALSE(result.cause[0].scores_dominate);
  EXPECT_GT(check(problem, test::certify(problem, SoftmaxTerms{.score = 0.5}).truth).violations, 0);
}

TEST(Fp64SoftmaxWorst, Underflow) {
  SoftmaxProblem problem = test::softmax(Format::f32, 1, 2, [] { return 0.0; });
  problem.x.set({0, 1}, std::nextafter(-707.0F, -1000.0F));
  const Reach found = reach(problem, SoftmaxTerms{.underflow = 0});
  expect_needed(found, found.o, 0.25);
  EXPECT_GT(check(problem, test::certify(problem, SoftmaxTerms{.underflow = 0.5}).truth).violations, 0);
}

// log 2 beside a large m: the sum loses up to 2^-33, far more than the log.
TEST(Fp64SoftmaxWorst, Shift) {
  const SoftmaxProblem problem = test::softmax(Format::f32, 1, 2, [] { return 1048577.0; });
  const Reach found = reach(problem, SoftmaxTerms{.shift = 0});
  expect_needed(found, found.lse, 0.9);
  EXPECT_GT(check(problem, test::certify(problem, SoftmaxTerms{.shift = 0.5}).truth).violations, 0);
}

// The log's claim for what L may be, on the input of Sum. Its other terms have their tests in certified_log_test.cc.
TEST(Fp64SoftmaxWorst, LogOfTheSum) {
  const SoftmaxProblem problem = every_addition_rounds_up(3);
  const Reach found = reach(problem, SoftmaxTerms{.log = {.sum = 0}});
  expect_needed(found, found.lse, 0.8);
}

}  // namespace
}  // namespace flashproof
