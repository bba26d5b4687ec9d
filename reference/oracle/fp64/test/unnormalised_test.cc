// Merges of un-normalised states in the fp64 tier; the normalised ones: merge_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "reference/oracle/fp64/test/row_check.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

using namespace test;

constexpr Format kFormats[] = {Format::f32, Format::f16, Format::bf16};
constexpr MergeForm kForms[] = {MergeForm::sum, MergeForm::concat};

MergeProblem states(Format format, std::int64_t n, std::int64_t rows, std::int64_t width, const test::Draw& o,
                    const test::Draw& m, const test::Draw& l, MergeForm form) {
  MergeProblem problem = test::merge(format, n, rows, width, o, m, form);
  problem.l = test::filled(Format::f32, {n, rows}, [&] { return std::fabs(l()); });
  return problem;
}

TEST(Fp64States, ContainsEveryShapeFormAndFormat) {
  Random random(1, 620);
  std::int64_t elements = 0;
  for (const Format format : kFormats) {
    for (const MergeForm form : kForms) {
      for (const std::int64_t n : {1, 2, 3, 9, 33, 66, 200}) {
        for (const std::int64_t width : {1, 8, 31, 33}) {
          const MergeProblem problem = states(format, n, 2, width, test::normal(random), test::normal(random, 8.0),
                                              test::log_uniform(random, -6, 10), form);
          const EnclosureCounts tally = check(problem, certify(problem).truth);
          ASSERT_EQ(tally.violations + tally.wrong_class, 0) << n << " " << width;
          elements += tally.elements;
        }
      }
    }
  }
  EXPECT_GT(elements, 50000);
}

// l over the whole range of f32, beside m that balance it, that do not, and at 3e38.
TEST(Fp64States, ContainsTheFullRange) {
  Random random(2, 620);
  for (int repeat = 0; repeat < 300; ++repeat) {
    const double spread = std::ldexp(1.0, static_cast<int>(random.integer(0, 12)));
    const double far = random.chance(0.2) ? 3e38 : 0.0;
    MergeProblem problem = states(
        Format::f32, random.integer(1, 12), 3, random.integer(1, 20), test::log_uniform(random, -149, 128),
        [&] { return far + spread * random.normal(); }, test::log_uniform(random, -149, 128), kForms[repeat % 2]);
    if (repeat % 3 == 0) {
      for (std::int64_t s = 0; s < problem.o.shape[0]; ++s) {
        for (std::int64_t r = 0; r < 3; ++r) problem.lse.set({s, r}, random.normal() - std::log(problem.l.at({s, r})));
      }
    }
    const Truth truth = certify(problem).truth;
    const EnclosureCounts tally = check(problem, truth);
    ASSERT_EQ(tally.violations + tally.wrong_class, 0) << repeat;
    for (std::size_t i = 0; i < truth.o.size(); ++i) ASSERT_TRUE(std::isfinite(truth.o[i].radius)) << repeat;
    for (std::size_t r = 0; r < truth.lse.size(); ++r) ASSERT_LT(truth.lse[r].radius, 1e-8 * spread + 1e24) << repeat;
  }
}

// Weights 2u each, 2u of L, n u for N, 1 u each for L, the quotient and the share; differences of m lose 2^-44.
TEST(Fp64States, RadiiAreNarrow) {
  Random random(3, 620);
  for (int repeat = 0; repeat < 60; ++repeat) {
    const std::int64_t n = random.integer(1, 40);
    const MergeProblem problem =
        states(kFormats[repeat % 3], n, 3, random.integer(1, 70), test::normal(random), test::normal(random, 20.0),
               test::log_uniform(random, -30, 30), kForms[repeat / 3 % 2]);
    const Truth truth = certify(problem).truth;
    const double largest = test::sizes(problem).largest_value;
    const double relative = (2.0 * static_cast<double>(n) + 8) * 0x1p-53 + 0x1p-43;
    for (std::size_t i = 0; i < truth.o.size(); ++i) EXPECT_LE(truth.o[i].radius, relative * largest + 0x1p-900);
  }
}

TEST(Fp64States, LOfOneIsTheNormalisedState) {
  Random random(4, 620);
  for (const MergeForm form : kForms) {
    MergeProblem problem = test::merge(Format::f32, 5, 4, 7, test::normal(random), test::normal(random, 3.0), form);
    const Truth without = certify(problem).truth;
    problem.l = test::filled(Format::f32, {5, 4}, [] { return 1.0; });
    const Truth with = certify(problem).truth;
    for (std::size_t i = 0; i < with.o.size(); ++i) {
      EXPECT_LE(std::fabs(with.o[i].hi - without.o[i].hi), with.o[i].radius + without.o[i].radius);
      EXPECT_LE(with.o[i].radius, 2 * without.o[i].radius);
    }
    for (std::size_t r = 0; r < with.lse.size(); ++r) {
      EXPECT_LE(std::fabs(with.lse[r].hi - without.lse[r].hi), with.lse[r].radius + without.lse[r].radius);
    }
  }
}

TEST(Fp64States, OneStateIsDividedByItsL) {
  for (const MergeForm form : kForms) {
    MergeProblem problem =
        states(Format::f32, 2, 3, 3, [] { return 6.0; }, [] { return 5.0; }, [] { return 2.0; }, form);
    for (std::int64_t r = 0; r < 3; ++r) problem.l.set({0, r}, 0.0);
    problem.l.set({1, 1}, 3.0);
    problem.l.set({1, 2}, 0x1p-149);
    const Truth truth = certify(problem).truth;
    const std::int64_t first = form == MergeForm::concat ? 3 : 0;
    const double expected[] = {3.0, 2.0, 6.0 * 0x1p149};
    for (std::int64_t r = 0; r < 3; ++r) {
      for (std::int64_t c = 0; c < 3; ++c) {
        const Ball ball = truth.o[r * truth.width + first + c];
        EXPECT_LE(std::fabs(ball.hi - expected[r]), ball.radius);
        EXPECT_LE(ball.radius, 3 * 0x1p-53 * expected[r]) << r;
      }
    }
    EXPECT_EQ(truth.o[first].radius, 0.0) << "a power of two";
    EXPECT_EQ(check(problem, truth).violations, 0);
  }
}

TEST(Fp64States, SpecialRows) {
  for (const MergeForm form : kForms) {
    MergeProblem problem =
        states(Format::f32, 2, 7, 1, [] { return 4.0; }, [] { return 1.0; }, [] { return 2.0; }, form);
    problem.l.set({0, 0}, 0.0);  // empty, whatever o holds
    problem.o.set({0, 0, 0}, kNan);
    problem.lse.set({0, 1}, -kInfinity);  // empty, whatever o and l hold
    problem.l.set({0, 1}, kNan);
    problem.o.set({0, 1, 0}, kInfinity);
    problem.l.set({0, 2}, kNan);  // poison
    problem.l.set({0, 3}, kInfinity);
    problem.lse.set({0, 4}, kInfinity);
    problem.l.set({0, 4}, 0.0);
    problem.lse.set({0, 5}, -kInfinity);  // both empty
    problem.l.set({0, 5}, -1.0);
    problem.l.set({1, 5}, -0.0);
    ASSERT_NO_THROW(validate(problem));
    const Truth truth = certify(problem).truth;
    const std::int64_t width = truth.width;
    for (const std::int64_t r : {0, 1}) {
      EXPECT_EQ(truth.tier[r], Tier::fp64);
      EXPECT_EQ(truth.o[r * width + width - 1].hi, 2.0);
      EXPECT_EQ(truth.o[r * width + width - 1].classes, kFinite);
      if (form == MergeForm::concat) {
        EXPECT_EQ(truth.o[r * width].hi, 0.0);
      }
      EXPECT_NEAR(truth.lse[r].hi, 1 + std::log(2.0), 1e-15);
    }
    for (const std::int64_t r : {2, 3, 4}) {
      EXPECT_EQ(truth.lse[r].classes, kNaN) << r;
      EXPECT_EQ(truth.o[r * width].classes, kNaN) << r;
    }
    EXPECT_EQ(truth.lse[5].classes, kNegInf);
    EXPECT_EQ(truth.o[5 * width].hi, 0.0);
    EXPECT_EQ(truth.tier[5], Tier::symbolic);
    EXPECT_EQ(truth.o[6 * width].hi, form == MergeForm::sum ? 2.0 : 1.0);
  }
}

TEST(Fp64States, JoinsChangeNothing) {
  Random random(5, 620);
  MergeProblem problem = states(Format::bf16, 9, 4, 6, test::normal(random), test::normal(random, 4.0),
                                test::log_uniform(random, 0, 6), MergeForm::sum);
  const Truth without = certify(problem).truth;
  problem.joins = test::random_joins(random, 9);
  ASSERT_NO_THROW(validate(problem));
  EXPECT_TRUE(test::same_bits(without, certify(problem).truth));
}

TEST(Fp64States, SameBitsOnEveryVectorUnitAndThreadCount) {
  Random random(6, 620);
  for (const MergeForm form : kForms) {
    const MergeProblem problem = states(Format::f16, 40, 30, 37, test::normal(random), test::normal(random, 9.0),
                                        test::log_uniform(random, -20, 20), form);
    const Truth expected = certify(problem).truth;
    test::for_each_target(
        [&](const std::string& name) { EXPECT_TRUE(test::same_bits(expected, certify(problem).truth)) << name; });
    EXPECT_TRUE(test::same_bits(expected, certify(problem, {}, 5).truth));
  }
}

// Worst cases: one input per term, see merge_worst_test.cc.

// L = 1 + 0.99.. u rounds down to 1. The sum form claims u of N too: N = 1 + u(1 + 2^-20) rounds up by nearly that.
TEST(Fp64StatesWorst, TheRoundingOfL) {
  for (const MergeForm form : kForms) {
    MergeProblem problem =
        states(Format::f32, 2, 1, 1, [] { return 1.0; }, [] { return 0.0; }, [] { return 1.0; }, form);
    problem.l.set({1, 0}, 0x1p-53 * (1 - 0x1p-24));
    problem.o.set({1, 0, 0}, form == MergeForm::sum ? 0x1p-53 * (1 + 0x1p-20) : 0.0);
    const Reach found = reach(problem, MergeTerms{.counts = 0});
    expect_needed(found, found.o, 0.99);
    EXPECT_GT(check(problem, certify(problem, MergeTerms{.counts = 0.5}).truth).violations, 0);
  }
}

/// The most that any of so many problems needs of the term, which suffices for all.
double most_needed(int problems, const std::function<MergeProblem()>& draw, const MergeTerms& dropped) {
  double most = -1;
  for (int n = 0; n < problems; ++n) {
    const Reach found = reach(draw(), dropped);
    EXPECT_EQ(found.violations, 0);
    most = std::max(most, found.o);
  }
  EXPECT_LE(most, 1.0);
  return most;
}

// The state of the largest m weighs next to nothing: what exp loses of the other one is lost of L.
TEST(Fp64StatesWorst, ExpOfTheStateThatWeighs) {
  Random random(7, 620);
  const auto draw = [&] {
    MergeProblem problem = states(
        Format::f32, 2, 1, 1, [] { return 1.0; }, [] { return 0.0; }, [] { return 0x1p-100; }, MergeForm::concat);
    problem.lse.set({1, 0}, random.uniform(-20, -1));
    problem.l.set({1, 0}, 1.0);
    problem.o.set({1, 0, 0}, 0.0);
    return problem;
  };
  EXPECT_GT(most_needed(3000, draw, {.weights = {.exp = 0}}), 0.4);
}

// One state: fl(1/l), then times v.
TEST(Fp64StatesWorst, TheQuotientOfAShare) {
  Random random(8, 620);
  const auto share = [&] { return 1 + random.uniform(); };
  const auto draw = [&] { return states(Format::f32, 1, 1, 1, share, [] { return 0.0; }, share, MergeForm::concat); };
  EXPECT_GT(most_needed(1000, draw, {.weights = {.quotient = 0}}), 0.9);
}

// A weight that is taken for 0, of a state whose l makes it count: it is the only one with an o.
TEST(Fp64StatesWorst, Underflow) {
  for (const MergeForm form : kForms) {
    MergeProblem problem =
        states(Format::f32, 2, 1, 1, [] { return 3e38; }, [] { return 0.0; }, [] { return 0x1p-149; }, form);
    problem.o.set({1, 0, 0}, 0.0);
    problem.lse.set({0, 0}, std::nextafter(-707.0F, -1000.0F));
    const Reach found = reach(problem, MergeTerms{.weights = {.underflow = 0}});
    expect_needed(found, found.o, 0.5);
  }
}

}  // namespace
}  // namespace flashproof
