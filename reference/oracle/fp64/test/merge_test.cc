#include "reference/oracle/fp64/merge.h"

#include <gtest/gtest.h>

#include "reference/oracle/fp64/row_sums.h"
#include "reference/oracle/fp64/test/row_check.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

using rows64::value_roundings;
using namespace test;

constexpr Format kFormats[] = {Format::f32, Format::f16, Format::bf16};
constexpr MergeForm kForms[] = {MergeForm::sum, MergeForm::concat};

MergeProblem any_problem(Random& random, Format format, MergeForm form, std::int64_t states, std::int64_t rows,
                         std::int64_t width) {
  const double sigma = std::ldexp(1.0, static_cast<int>(random.integer(-8, 8)));
  const double mean = 100.0 * random.normal();
  const double hide = random.chance(0.5) ? 0.0 : 0.2;
  MergeProblem problem = test::merge(
      format, states, rows, width, random.chance(0.5) ? test::normal(random) : test::log_uniform(random, -14, 15),
      [&] { return random.chance(hide) ? -kInfinity : mean + sigma * random.normal(); }, form);
  if (random.chance(0.3)) {  // rows a few elements apart, NaN between them
    const Tensor dense = problem.o;
    problem.o = Tensor::strided(format, dense.shape, {1, 2 * states * width + 3, states + 1});
    for (std::int64_t s = 0; s < states; ++s) {
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < width; ++c) problem.o.set({s, r, c}, dense.at({s, r, c}));
      }
    }
  }
  return problem;
}

TEST(Fp64Merge, ContainsTheHardKinds) {
  std::int64_t elements = 0;
  for (std::size_t kind = 0; kind < test::hard_kinds().size(); ++kind) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Random random(seed, kind);
      const Problem problem = test::hard_kinds()[kind].make(random);
      if (!std::holds_alternative<MergeProblem>(problem)) break;
      MergeProblem merge = std::get<MergeProblem>(problem);
      for (const MergeForm form : kForms) {
        merge.form = form;
        const EnclosureCounts tally = check(merge, certify(merge).truth);
        EXPECT_EQ(tally.violations + tally.wrong_class, 0) << test::hard_kinds()[kind].name << " " << seed;
        elements += tally.elements;
      }
    }
  }
  EXPECT_GT(elements, 4000);
}

TEST(Fp64Merge, ContainsEveryShapeFormAndFormat) {
  Random random(1, 600);
  std::int64_t elements = 0;
  for (const Format format : kFormats) {
    for (const MergeForm form : kForms) {
      for (const std::int64_t states : {1, 2, 3, 8, 9, 33, 34, 64, 65, 200}) {
        for (const std::int64_t width : {1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65}) {
          if (states * width > 4000) continue;
          const MergeProblem problem = any_problem(random, format, form, states, 2, width);
          const EnclosureCounts tally = check(problem, certify(problem).truth);
          ASSERT_EQ(tally.violations + tally.wrong_class, 0) << states << " " << width;
          elements += tally.elements;
        }
      }
    }
  }
  EXPECT_GT(elements, 100000);
}

// f32 values over their whole range: subnormal o, weights that underflow, o at 3.4e38.
TEST(Fp64Merge, ContainsTheFullRange) {
  Random random(2, 600);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const double spread = std::ldexp(1.0, static_cast<int>(random.integer(0, 12)));
    const MergeProblem problem = test::merge(
        Format::f32, random.integer(1, 12), 3, random.integer(1, 20), test::log_uniform(random, -149, 128),
        [&] { return spread * random.normal(); }, kForms[repeat % 2]);
    const EnclosureCounts tally = check(problem, certify(problem).truth);
    ASSERT_EQ(tally.violations + tally.wrong_class, 0) << repeat;
  }
}

// Sum form, n states, exact differences of lse: 2u per weight and as much again for L, n u for N, n u for L, 1 u for the
// quotient, all times max|v|; where lse differences are rounded, 2·2^-44 more.
TEST(Fp64Merge, RadiiAreNarrow) {
  Random random(3, 600);
  for (int repeat = 0; repeat < 60; ++repeat) {
    const std::int64_t states = random.integer(1, 40);
    const MergeProblem problem =
        any_problem(random, kFormats[repeat % 3], kForms[repeat / 3 % 2], states, 3, random.integer(1, 70));
    const Truth truth = certify(problem).truth;
    const double relative = (2.0 * static_cast<double>(states) + 6) * 0x1p-53 + 0x1p-43;
    const double largest = test::largest_finite(problem.o);
    for (std::size_t i = 0; i < truth.o.size(); ++i)
      EXPECT_LE(truth.o[i].radius, relative * largest + 0x1p-1018 * largest + 0x1p-1039);
  }
}

TEST(Fp64Merge, OneStateIsExact) {
  Random random(4, 600);
  for (const MergeForm form : kForms) {
    MergeProblem problem =
        test::merge(Format::f32, 3, 2, 40, test::log_uniform(random, -149, 128), [] { return -kInfinity; }, form);
    problem.lse.set({1, 0}, 3e38);
    problem.lse.set({2, 1}, -1e-40);
    const Truth truth = certify(problem).truth;
    for (std::int64_t r = 0; r < 2; ++r) {
      const std::int64_t s = r + 1;
      EXPECT_EQ(truth.lse[r].hi, problem.lse.at({s, r}));
      EXPECT_EQ(truth.lse[r].radius, 0.0);
      for (std::int64_t c = 0; c < truth.width; ++c) {
        const bool block = form == MergeForm::sum || c / 40 == s;
        EXPECT_EQ(truth.o[r * truth.width + c].hi, block ? problem.o.at({s, r, c % 40}) : 0.0);
        EXPECT_EQ(truth.o[r * truth.width + c].radius, 0.0);
      }
    }
  }
}

TEST(Fp64Merge, TheRoundingsOfTheChains) {
  EXPECT_EQ(value_roundings(1, 1), 0);
  EXPECT_EQ(value_roundings(2, 2), 1);
  EXPECT_EQ(value_roundings(33, 33), 32);
  EXPECT_EQ(value_roundings(34, 34), 32 + 1);
  EXPECT_EQ(value_roundings(65, 65), 32 + 1);
  EXPECT_EQ(value_roundings(66, 66), 32 + 2);
  EXPECT_EQ(value_roundings(66, 1), 0);
  EXPECT_EQ(value_roundings(66, 2), 1 + 1);  // its product, and where its group is added
}

TEST(Fp64Merge, SpecialRows) {
  for (const MergeForm form : kForms) {
    MergeProblem problem = test::merge(Format::f32, 2, 5, 3, [] { return 2.0; }, [] { return 1.0; }, form);
    problem.lse.set({0, 0}, -kInfinity);
    problem.lse.set({1, 0}, -kInfinity);
    problem.lse.set({0, 1}, kNan);
    problem.lse.set({0, 2}, -kInfinity);
    problem.lse.set({1, 2}, kInfinity);
    problem.lse.set({1, 3}, -kInfinity);
    for (std::int64_t c = 0; c < 3; ++c) {  // bytes of an empty state count for nothing
      problem.o.set({1, 3, c}, kNan);
      problem.o.set({1, 0, c}, kInfinity);
    }
    const Truth truth = certify(problem).truth;
    EXPECT_EQ(truth.tier, (std::vector<Tier>{Tier::symbolic, Tier::symbolic, Tier::symbolic, Tier::fp64, Tier::fp64}));
    EXPECT_EQ(truth.lse[0].classes, kNegInf);
    EXPECT_EQ(truth.lse[1].classes, kNaN);
    EXPECT_EQ(truth.lse[2].classes, kNaN);
    for (std::int64_t c = 0; c < truth.width; ++c) {
      EXPECT_EQ(truth.o[c].classes, kFinite);
      EXPECT_EQ(truth.o[c].hi, 0.0);
      EXPECT_EQ(truth.o[truth.width + c].classes, kNaN);
      const bool empty_block = form == MergeForm::concat && c < 3;
      EXPECT_EQ(truth.o[2 * truth.width + c].classes, empty_block ? kFinite | kNaN : kNaN);
      const bool of_empty = form == MergeForm::concat && c >= 3;
      EXPECT_EQ(truth.o[3 * truth.width + c].hi, of_empty ? 0.0 : 2.0);
      EXPECT_EQ(truth.o[3 * truth.width + c].radius, 0.0);
      EXPECT_EQ(truth.o[4 * truth.width + c].hi, form == MergeForm::sum ? 2.0 : 1.0);
    }
  }
}

TEST(Fp64Merge, SpecialValues) {
  for (const double far : {0.0, -900.0}) {  // a weight that underflows changes no class
    MergeProblem problem = test::merge(Format::f32, 3, 1, 40, [] { return 2.0; }, [] { return 0.0; }, MergeForm::sum);
    problem.lse.set({0, 0}, far);
    problem.o.set({0, 0, 0}, kNan);
    problem.o.set({0, 0, 1}, kInfinity);
    problem.o.set({0, 0, 2}, -kInfinity);
    problem.o.set({0, 0, 33}, kInfinity);
    problem.o.set({1, 0, 33}, -kInfinity);
    const Truth sum = certify(problem).truth;
    const std::uint8_t positive = kNaN | kPosInf, negative = kNaN | kNegInf;
    for (std::int64_t c = 0; c < 40; ++c) {
      const std::uint8_t expected = c == 0    ? std::uint8_t{kNaN}
                                    : c == 1  ? positive
                                    : c == 2  ? negative
                                    : c == 33 ? std::uint8_t{kNaN | kPosInf | kNegInf}
                                              : std::uint8_t{kFinite};
      EXPECT_EQ(sum.o[c].classes, expected) << c;
      if (expected != kFinite) {
        EXPECT_EQ(sum.o[c].hi, 0.0);
        EXPECT_EQ(sum.o[c].radius, 0.0);
        EXPECT_EQ(sum.status(0, c), Status::symbolic);
      } else {
        EXPECT_LE(std::fabs(sum.o[c].hi - 2.0), sum.o[c].radius);
        EXPECT_EQ(sum.status(0, c), Status::certified);
      }
    }
    EXPECT_EQ(sum.lse[0].classes, kFinite);
    problem.form = MergeForm::concat;
    const Truth concat = certify(problem).truth;
    EXPECT_EQ(concat.o[0].classes, kNaN);
    EXPECT_EQ(concat.o[1].classes, positive);
    EXPECT_EQ(concat.o[2].classes, negative);
    EXPECT_EQ(concat.o[3].classes, kFinite);
    EXPECT_EQ(concat.o[33].classes, positive);
    EXPECT_EQ(concat.o[40 + 33].classes, negative);
    EXPECT_EQ(concat.o[80 + 33].classes, kFinite);
  }
}

TEST(Fp64Merge, OneStateWithSpecialValues) {
  MergeProblem problem =
      test::merge(Format::bf16, 1, 1, 3, [] { return kInfinity; }, [] { return 5.0; }, MergeForm::sum);
  problem.o.set({0, 0, 1}, kNan);
  problem.o.set({0, 0, 2}, 0.5);
  for (const MergeForm form : kForms) {
    problem.form = form;
    const Truth truth = certify(problem).truth;
    EXPECT_EQ(truth.o[0].classes, kNaN | kPosInf);
    EXPECT_EQ(truth.o[1].classes, kNaN);
    EXPECT_EQ(truth.o[2].classes, kFinite);
    EXPECT_EQ(truth.o[2].hi, 0.5);
  }
}

TEST(Fp64Merge, RowsAreTakenInTheOrderGiven) {
  Random random(5, 600);
  const MergeProblem problem = any_problem(random, Format::f16, MergeForm::sum, 4, 9, 6);
  const Truth whole = certify(problem).truth;
  const std::vector<std::int64_t> rows = {1, 7};
  Truth part = Truth::sized(2, 6, Tier::fp64);
  std::vector<RowCause> cause(2);
  fp64_merge(problem, rows, Threads(), part, cause);
  for (std::size_t p = 0; p < rows.size(); ++p) {
    for (std::int64_t c = 0; c < 6; ++c) EXPECT_EQ(part.o[p * 6 + c].hi, whole.o[rows[p] * 6 + c].hi);
    EXPECT_EQ(part.lse[p].hi, whole.lse[rows[p]].hi);
  }
}

TEST(Fp64Merge, SameBitsOnEveryVectorUnitAndThreadCount) {
  Random random(6, 600);
  for (const std::int64_t states : {1, 2, 9, 40, 130}) {
    for (const std::int64_t width : {1, 5, 32, 100}) {
      for (const MergeForm form : kForms) {
        MergeProblem problem = any_problem(random, kFormats[(states + width) % 3], form, states, 40, width);
        problem.o.set({0, 7, 0}, kInfinity);
        problem.o.set({0, 30, width - 1}, kNan);
        const Truth expected = certify(problem).truth;
        const int targets = test::for_each_target([&](const std::string& name) {
          EXPECT_TRUE(test::same_bits(expected, certify(problem).truth)) << name << " " << states << " " << width;
        });
        EXPECT_GE(targets, 1);
        for (const int threads : {2, 5}) {
          EXPECT_TRUE(test::same_bits(expected, certify(problem, {}, threads).truth)) << threads;
        }
      }
    }
  }
}

}  // namespace
}  // namespace flashproof
