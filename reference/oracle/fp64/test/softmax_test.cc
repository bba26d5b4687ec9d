#include "reference/oracle/fp64/softmax.h"

#include <gtest/gtest.h>

#include <map>

#include "reference/oracle/fp64/row_sums.h"
#include "reference/oracle/fp64/test/row_check.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

using rows64::sum_roundings;
using namespace test;

constexpr Format kFormats[] = {Format::f32, Format::f16, Format::bf16};

/// Strides, lengths, hidden keys and an offset, all by chance.
SoftmaxProblem any_problem(Random& random, Format format, std::int64_t rows, std::int64_t cols) {
  SoftmaxProblem problem;
  const double sigma = std::ldexp(1.0, static_cast<int>(random.integer(-8, 8)));
  const double mean = 100.0 * random.normal();
  const double hide = random.chance(0.5) ? 0.0 : 0.2;
  problem.x = test::filled(
      format, {rows, cols}, [&] { return random.chance(hide) ? -kInfinity : mean + sigma * random.normal(); },
      random.chance(0.3));
  if (random.chance(0.3)) {
    for (std::int64_t r = 0; r < rows; ++r) {
      problem.row_length.push_back(static_cast<std::int32_t>(random.integer(0, cols)));
    }
  }
  problem.plan = ChunkPlan::uniform(cols, 16);
  if (random.chance(0.2)) {  // columns apart
    const Tensor dense = problem.x;
    problem.x = Tensor::strided(format, {rows, cols}, {1, rows + 2});
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t j = 0; j < cols; ++j) problem.x.set({r, j}, dense.at({r, j}));
    }
  }
  return problem;
}

TEST(Fp64Softmax, ContainsTheHardKinds) {
  std::int64_t elements = 0;
  for (std::size_t kind = 0; kind < test::hard_kinds().size(); ++kind) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      Random random(seed, kind);
      const Problem problem = test::hard_kinds()[kind].make(random);
      if (!std::holds_alternative<SoftmaxProblem>(problem)) break;
      const auto& softmax = std::get<SoftmaxProblem>(problem);
      const EnclosureCounts tally = check(softmax, certify(softmax).truth);
      EXPECT_EQ(tally.violations + tally.wrong_class, 0) << test::hard_kinds()[kind].name << " " << seed;
      elements += tally.elements;
    }
  }
  EXPECT_GT(elements, 4000);
}

TEST(Fp64Softmax, ContainsEveryShapeAndFormat) {
  Random random(1, 500);
  std::int64_t elements = 0;
  for (const Format format : kFormats) {
    for (const std::int64_t cols : {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 63, 64, 65, 127, 128, 129, 500}) {
      for (int repeat = 0; repeat < (cols < 100 ? 8 : 2); ++repeat) {
        const SoftmaxProblem problem = any_problem(random, format, 3, cols);
        const EnclosureCounts tally = check(problem, certify(problem).truth);
        ASSERT_EQ(tally.violations + tally.wrong_class, 0) << cols << " " << repeat;
        elements += tally.elements;
      }
    }
  }
  EXPECT_GT(elements, 20000);
}

TEST(Fp64Softmax, BroadcastStrides) {
  SoftmaxProblem problem = test::softmax(Format::bf16, 1, 30, [n = 0]() mutable { return 0.125 * ++n; });
  problem.x.shape = {5, 30};
  problem.x.stride = {0, 1};
  EXPECT_EQ(check(problem, certify(problem).truth).violations, 0);
  problem.x.stride = {1, 0};
  EXPECT_EQ(check(problem, certify(problem).truth).violations, 0);
}

// With exact differences x − m every radius is at most (2 exp + 39 sum (n <= 2^20) + 2 quotient) u o and the floor; where
// x − m is rounded, |x − m| <= 707 adds 2·2^-44 o. A radius that is needlessly wide would escalate every row.
TEST(Fp64Softmax, RadiiAreNarrow) {
  Random random(2, 500);
  for (int repeat = 0; repeat < 60; ++repeat) {
    const SoftmaxProblem problem = any_problem(random, kFormats[repeat % 3], 4, random.integer(1, 300));
    const Certified result = certify(problem);
    for (std::size_t i = 0; i < result.truth.o.size(); ++i) {
      const Ball ball = result.truth.o[i];
      if (ball.classes != kFinite) continue;
      EXPECT_LE(ball.radius, (45 * 0x1p-53 + 0x1p-43) * ball.hi + 0x1p-1018);
    }
    for (std::size_t r = 0; r < result.truth.lse.size(); ++r) {
      const Ball ball = result.truth.lse[r];
      if (ball.classes != kFinite) continue;
      EXPECT_LE(ball.radius, 45 * 0x1p-53 + 0x1p-44 + 0x1p-53 * std::fabs(ball.hi));
      EXPECT_LE(result.cause[r].score_error, 0x1p-44);
    }
  }
}

TEST(Fp64Softmax, ExactRowsHaveRadiusZero) {
  SoftmaxProblem problem = test::softmax(Format::f32, 3, 8, [] { return -kInfinity; });
  problem.x.set({0, 3}, 0x1.fffffep127);
  for (const std::int64_t j : {1, 6}) problem.x.set({1, j}, -7.25);
  problem.x.set({2, 0}, 0x1p-149);
  const Certified result = certify(problem);
  for (const std::int64_t r : {0, 2}) {
    for (std::int64_t j = 0; j < 8; ++j) {
      EXPECT_EQ(result.truth.o[r * 8 + j].hi, problem.x.at({r, j}) == -kInfinity ? 0.0 : 1.0);
      EXPECT_EQ(result.truth.o[r * 8 + j].radius, 0.0);
    }
    EXPECT_EQ(result.truth.lse[r].radius, 0.0);
  }
  EXPECT_EQ(result.truth.lse[0].hi, 0x1.fffffep127);
  EXPECT_EQ(result.truth.lse[2].hi, 0x1p-149);
  EXPECT_EQ(result.truth.o[8 + 1].hi, 0.5);
  EXPECT_LE(result.truth.o[8 + 1].radius, 0x1p-53);
  EXPECT_EQ(result.truth.o[8 + 2].radius, 0.0);
}

// e^-710 and below: 0 with a radius above the truth and far below 2^-161, a 2^-12 of the least f32.
TEST(Fp64Softmax, UnderflowIsContained) {
  SoftmaxProblem problem = test::softmax(Format::f32, 1, 40, [] { return 0.0; });
  for (std::int64_t j = 1; j < 40; ++j) problem.x.set({0, j}, -700.0 - 0.5 * static_cast<double>(j));
  const Truth truth = certify(problem).truth;
  EXPECT_EQ(check(problem, truth).violations, 0);
  int zeros = 0;
  for (std::int64_t j = 1; j < 40; ++j) {
    zeros += truth.o[j].hi == 0.0 ? 1 : 0;
    EXPECT_GT(truth.o[j].radius, 0.0);
    EXPECT_LE(truth.o[j].radius, 0x1p-1008);  // 2^-52 e^-700.5, and 2^-1019
  }
  EXPECT_EQ(zeros, 25);  // x < -707: j = 15 .. 39
}

TEST(Fp64Softmax, RowsAreTakenInTheOrderGiven) {
  Random random(3, 500);
  const SoftmaxProblem problem = any_problem(random, Format::f32, 9, 21);
  const Truth whole = certify(problem).truth;
  const std::vector<std::int64_t> rows = {2, 3, 8};
  Truth part = Truth::sized(3, 21, Tier::fp64);
  std::vector<RowCause> cause(3);
  fp64_softmax(problem, rows, Threads(), part, cause);
  for (std::size_t p = 0; p < rows.size(); ++p) {
    for (std::int64_t j = 0; j < 21; ++j) {
      EXPECT_EQ(part.o[p * 21 + j].hi, whole.o[rows[p] * 21 + j].hi);
      EXPECT_EQ(part.o[p * 21 + j].radius, whole.o[rows[p] * 21 + j].radius);
    }
    EXPECT_EQ(part.lse[p].hi, whole.lse[rows[p]].hi);
  }
}

TEST(Fp64Softmax, SpecialRows) {
  SoftmaxProblem problem = test::softmax(Format::f32, 6, 5, [] { return 1.0; });
  problem.row_length = {5, 5, 5, 0, 3, 5};
  for (std::int64_t j = 0; j < 5; ++j) problem.x.set({0, j}, -kInfinity);
  problem.x.set({1, 2}, kNan);
  problem.x.set({1, 3}, -kInfinity);
  problem.x.set({2, 4}, kInfinity);
  problem.x.set({4, 1}, kNan);
  problem.x.set({5, 4}, -kInfinity);
  const Certified result = certify(problem);
  const Truth& truth = result.truth;
  for (const std::int64_t r : {0, 3}) {  // nothing visible
    EXPECT_EQ(truth.tier[r], Tier::symbolic);
    EXPECT_EQ(truth.lse[r].classes, kNegInf);
    for (std::int64_t j = 0; j < 5; ++j) {
      EXPECT_EQ(truth.o[r * 5 + j].classes, kFinite);
      EXPECT_EQ(truth.o[r * 5 + j].hi, 0.0);
      EXPECT_EQ(truth.o[r * 5 + j].radius, 0.0);
    }
  }
  for (const std::int64_t r : {1, 2, 4}) {  // poisoned
    EXPECT_EQ(truth.tier[r], Tier::symbolic);
    EXPECT_EQ(truth.lse[r].classes, kNaN);
    for (std::int64_t j = 0; j < 5; ++j) {
      const bool hidden = (r == 1 && j == 3) || (r == 4 && j >= 3);
      EXPECT_EQ(truth.o[r * 5 + j].classes, hidden ? kFinite | kNaN : kNaN);
      EXPECT_EQ(truth.o[r * 5 + j].hi, 0.0);
      EXPECT_EQ(truth.o[r * 5 + j].radius, 0.0);
    }
  }
  EXPECT_EQ(truth.tier[5], Tier::fp64);
  EXPECT_EQ(truth.lse[5].classes, kFinite);
  EXPECT_EQ(truth.o[29].hi, 0.0);
  EXPECT_EQ(truth.o[29].radius, 0.0);
  EXPECT_EQ(truth.o[25].hi, 0.25);
}

TEST(Fp64Softmax, SpecialValuesBeyondTheLengthAreNotRead) {
  SoftmaxProblem problem = test::softmax(Format::f16, 2, 20, [] { return 1.0; });
  const Truth before = [&] {
    problem.row_length = {7, 9};
    return certify(problem).truth;
  }();
  for (std::int64_t j = 9; j < 20; ++j) {
    problem.x.set({0, j}, kNan);
    problem.x.set({1, j}, kInfinity);
  }
  EXPECT_TRUE(test::same_bits(before, certify(problem).truth));
}

TEST(Fp64Softmax, NoRowsNoColumns) {
  EXPECT_EQ(certify(test::softmax(Format::f32, 0, 4, [] { return 1.0; })).truth.o.size(), 0U);
  const Truth truth = certify(test::softmax(Format::f32, 2, 0, [] { return 1.0; })).truth;
  EXPECT_EQ(truth.lse[1].classes, kNegInf);
}

TEST(Fp64Softmax, SameBitsOnEveryVectorUnitAndThreadCount) {
  Random random(4, 500);
  for (const std::int64_t cols : {1, 3, 8, 13, 64, 129, 1000, 5000}) {
    for (const Format format : kFormats) {
      const SoftmaxProblem problem = any_problem(random, format, 40, cols);
      const Truth expected = certify(problem).truth;
      const int targets = test::for_each_target([&](const std::string& name) {
        EXPECT_TRUE(test::same_bits(expected, certify(problem).truth)) << name << " " << cols;
      });
      EXPECT_GE(targets, 1);
      for (const int threads : {2, 5}) {
        EXPECT_TRUE(test::same_bits(expected, certify(problem, {}, threads).truth)) << threads << " " << cols;
      }
    }
  }
}

/// One row of 2^20 scores drawn from `distinct` values: the exact sum needs one exp per value. Returns the violations.
std::int64_t long_row_violations(std::uint64_t seed, double sigma, const SoftmaxTerms& terms) {
  constexpr std::int64_t kCols = std::int64_t{1} << 20;
  constexpr std::int64_t kDistinct = 500;
  Random random(seed, 501);
  std::vector<double> values;
  values.reserve(kDistinct);
  for (std::int64_t k = 0; k < kDistinct; ++k) values.push_back(round_to(Format::f32, sigma * random.normal()));
  const SoftmaxProblem problem =
      test::softmax(Format::f32, 1, kCols, [&] { return values[random.integer(0, kDistinct - 1)]; });
  const Truth truth = certify(problem, terms).truth;
  struct Of {
    std::int64_t count = 0;
    Ball ball;
  };
  std::map<double, Of> seen;
  for (std::int64_t j = 0; j < kCols; ++j) {
    Of& of = seen[problem.x.at({0, j})];
    if (of.count == 0) of.ball = truth.o[j];
    EXPECT_TRUE(of.ball.hi == truth.o[j].hi && of.ball.radius == truth.o[j].radius);  // a function of x_j alone
    ++of.count;
  }
  // 500 exps and a sum at 332 bits: 2^-320 relative is far below any radius here.
  Fine total = 0;
  for (const auto& [x, of] : seen) total += Fine(static_cast<double>(of.count)) * exp(Fine(x));
  const auto tolerance = [](const Fine& exact) { return Fine(ldexp(abs(exact), -320)); };
  EnclosureCounts tally;
  for (const auto& [x, of] : seen) {
    const Fine exact = exp(Fine(x)) / total;
    test::judge(of.ball, exact, tolerance(exact), tally);
  }
  const Fine lse = log(total);
  test::judge(truth.lse[0], lse, tolerance(lse), tally);
  EXPECT_EQ(tally.wrong_class, 0);
  return tally.violations;
}

TEST(Fp64Softmax, ARowOfAMillion) {
  EXPECT_EQ(long_row_violations(1, 1.0, {}), 0);
  EXPECT_EQ(long_row_violations(2, 30.0, {}), 0);
}

TEST(Fp64Softmax, TheRoundingsOfTheTree) {
  EXPECT_EQ(sum_roundings(0, 0), 0);
  EXPECT_EQ(sum_roundings(1, 1), 0);
  EXPECT_EQ(sum_roundings(2, 2), 1);
  EXPECT_EQ(sum_roundings(3, 3), 2);
  EXPECT_EQ(sum_roundings(8, 8), 3);
  EXPECT_EQ(sum_roundings(9, 9), 4);       // a chain of 2, then the lanes
  EXPECT_EQ(sum_roundings(128, 128), 18);  // 15 + 3
  EXPECT_EQ(sum_roundings(129, 129), 15 + 2 + 3);
  EXPECT_EQ(sum_roundings(1 << 20, 1 << 20), 15 + 14 + 3);
  EXPECT_EQ(sum_roundings(1 << 20, 3), 2);  // two weights beside the largest: two additions that round
  EXPECT_EQ(sum_roundings(1 << 20, 1), 0);
}

}  // namespace
}  // namespace flashproof
