// The exact tier by itself: containment against reference<Real> at 300 digits, and what must not change a bit.
#include "reference/oracle/tiers.h"

#include <gtest/gtest.h>

#include <boost/multiprecision/mpfr.hpp>
#include <cmath>

#include "reference/oracle/exact/all_rows.h"
#include "reference/oracle/oracle.h"
#include "reference/oracle/test/reference.h"
#include "reference/oracle/test/reference_error.h"
#include "reference/oracle/test/test_problems.h"

namespace flashproof {
namespace {

namespace mp = boost::multiprecision;
using Fine = mp::number<mp::mpfr_float_backend<300>, mp::et_off>;
constexpr int kFineBits = 990;  // 300 digits are 996 bits or more

struct EnclosureCounts {
  int elements = 0, violations = 0, wrong_class = 0;
};

void judge(const Ball& ball, const Fine& exact, const Fine& tolerance, double shrink, EnclosureCounts& tally) {
  ++tally.elements;
  if (ball.classes != (mp::isinf(exact) ? kNegInf : kFinite)) ++tally.wrong_class;
  if (mp::isinf(exact)) return;
  const Fine distance = abs(Fine(exact - Fine(ball.hi)) - Fine(ball.lo));
  if (!(distance <= Fine(ball.radius) * Fine(shrink) + tolerance)) ++tally.violations;
}

EnclosureCounts contained(const Problem& problem, const Truth& truth, double shrink = 1.0) {
  const auto exact = visit_forward([](const auto& p) { return reference<Fine>(p); }, problem);
  const auto error = test::reference_error<Fine>(problem, ldexp(Fine(1), -kFineBits), 2.0);
  EXPECT_TRUE(error.meaningful);
  EXPECT_EQ(exact.o.size(), truth.o.size());
  EnclosureCounts tally;
  for (std::size_t i = 0; i < exact.o.size(); ++i) judge(truth.o[i], exact.o[i], error.o, shrink, tally);
  for (std::size_t i = 0; i < exact.lse.size(); ++i) judge(truth.lse[i], exact.lse[i], error.lse, shrink, tally);
  return tally;
}

bool narrow_row(const RowBalls& row) {
  bool narrow = narrow_enough(row.lse, Format::f32);
  for (const Ball& ball : row.o) narrow = narrow && narrow_enough(ball, Format::f32);
  return narrow;
}

TEST(ExactTier, ContainsHardKindsAtEveryPrecisionAndEndsNarrow) {
  int elements = 0;
  for (std::size_t k = 0; k < test::hard_kinds().size(); ++k) {
    SCOPED_TRACE(test::hard_kinds()[k].name);
    Random random(3, k);
    const Problem problem = test::hard_kinds()[k].make(random);
    for (const int bits : {128, 256, 512}) {
      const EnclosureCounts tally = contained(problem, test::all_rows(problem, bits));
      EXPECT_EQ(tally.violations, 0) << bits;
      EXPECT_EQ(tally.wrong_class, 0) << bits;
      elements += tally.elements;
    }
    const auto tier = exact_tier(problem);
    for (std::int64_t row = 0; row < output_shape(problem).rows; ++row) {
      int bits = 128;
      while (bits < kMaxBits && !narrow_row(tier->row(row, Tier::exact, bits))) bits *= 2;
      EXPECT_TRUE(narrow_row(tier->row(row, Tier::exact, bits))) << row;
      EXPECT_LE(bits, 1024) << row;
    }
  }
  EXPECT_GT(elements, 1500);
}

TEST(ExactTier, ContainsRandomProblems) {
  int elements = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Problem problem = test::random_problem(seed);
    const EnclosureCounts tally = contained(problem, test::all_rows(problem));
    ASSERT_EQ(tally.violations + tally.wrong_class, 0) << seed;
    elements += tally.elements;
  }
  EXPECT_GT(elements, 8000);
}

TEST(ExactTier, AnEighthOfTheRadiusIsNoticed) {
  Random random(1, 100);
  const Problem problem = test::softmax(Format::f32, 4, 50, [&] { return random.normal(); });
  const EnclosureCounts tally = contained(problem, test::all_rows(problem), 0.125);
  EXPECT_GT(tally.violations, tally.elements / 4);
}

void expect_same(const Ball& a, const Ball& b) {
  EXPECT_EQ(a.hi, b.hi);
  EXPECT_EQ(a.lo, b.lo);
  EXPECT_EQ(a.radius, b.radius);
  EXPECT_EQ(a.classes, b.classes);
}

void expect_same_row(const Truth& a, std::int64_t row_a, const Truth& b, std::int64_t row_b) {
  expect_same(a.lse[row_a], b.lse[row_b]);
  for (std::int64_t c = 0; c < a.width; ++c) expect_same(a.o[row_a * a.width + c], b.o[row_b * b.width + c]);
}

TEST(ExactTier, LayoutDoesNotChangeABit) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed, 4);
    test::Mix mix;
    mix.causal = seed % 2 == 0;
    mix.window = seed % 3 == 0;
    mix.alibi = seed % 4 == 1;
    mix.sink = seed % 5 == 0;
    mix.softcap = seed % 7 == 2;
    const AttentionProblem source = test::random_attention(random, Format::f32, mix, seed % 2 == 1);
    const Truth truth = test::all_rows(source);
    const Truth paged = test::all_rows(test::in_pages(source, 3, random));
    const Truth packed = test::all_rows(test::in_one_pack(source));
    for (std::int64_t b = 0; b < source.batch(); ++b) {
      for (std::int64_t h = 0; h < source.q_heads(); ++h) {
        for (std::int64_t i = 0; i < source.q_length(); ++i) {
          const std::int64_t row = (b * source.q_heads() + h) * source.q_length() + i;
          expect_same_row(truth, row, paged, row);
          expect_same_row(truth, row, packed, (h * source.batch() + b) * source.q_length() + i);
        }
      }
    }
  }
}

TEST(ExactTier, RowsDoNotDependOnTheOrderTheyAreAskedFor) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Problem problem = test::random_problem(seed);
    const Truth truth = test::all_rows(problem);
    const auto tier = exact_tier(problem);
    for (std::int64_t row = truth.rows; row-- > 0;) {
      tier->row(truth.rows - 1 - row, Tier::exact, 256);
      const RowBalls balls = tier->row(row, Tier::exact, 128);
      EXPECT_EQ(balls.tier, truth.tier[row]);
      EXPECT_EQ(balls.bits, balls.tier == Tier::exact ? 128 : 0);
      expect_same(balls.lse, truth.lse[row]);
      for (std::int64_t c = 0; c < truth.width; ++c) expect_same(balls.o[c], truth.o[row * truth.width + c]);
    }
  }
}

TEST(ExactTier, MemoryIsPerKeyNotPerElement) {
  const auto one = [] { return 1.0; };
  const auto bytes = [&](std::int64_t sk, std::int64_t d, float softcap) {
    AttentionProblem p = test::attention(Format::f32, {.sq = 1, .sk = sk, .d = d, .dv = 1}, one, one, one);
    p.softcap = softcap;
    return exact_tier_bytes(p);
  };
  EXPECT_EQ(bytes(20001, 1, 0.0F) - bytes(20000, 1, 0.0F), 482);
  EXPECT_EQ(bytes(20001, 1, 1.0F) - bytes(20000, 1, 1.0F), 948);
  EXPECT_LE(bytes(20000, 64, 0.0F) - bytes(20000, 1, 0.0F), 63 * 56);
  EXPECT_LE(bytes(20000, 1, 0.0F), 20000 * 482 + 10'000'000);
}

}  // namespace
}  // namespace flashproof
