// Balls of the double-double tier: do they contain the exact result, are they narrow, and are the special values right?
// The constructed worst cases of each radius term are in double_double_worst_test.cc.
#include <gtest/gtest.h>

#include <hwy/targets.h>
#include <cmath>

#include "reference/oracle/double_double/double_double_judge.h"
#include "reference/oracle/double_double/kernels.h"
#include "reference/oracle/test/reference.h"
#include "reference/oracle/test/test_problems.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

using test::Findings;
using test::judge_rows;

bool has_tier(const Problem& problem, Tier tier) {
  return has_double_double_tier(problem) && (tier == Tier::dd || kind_of(problem) == ProblemKind::attention);
}

void expect_contained(const Problem& problem, const DdOptions& options, int& elements) {
  for (const Tier tier : {Tier::dd, Tier::dd_scores}) {
    if (!has_tier(problem, tier)) continue;
    const Findings findings = judge_rows(problem, tier, options);
    EXPECT_EQ(findings.violations, 0) << static_cast<int>(tier);
    EXPECT_EQ(findings.wrong_class, 0) << static_cast<int>(tier);
    elements += findings.elements;
  }
}

TEST(DoubleDouble, ContainsTheExactResultOfHardKinds) {
  int elements = 0;
  for (std::size_t n = 0; n < test::hard_kinds().size(); ++n) {
    const test::Kind& kind = test::hard_kinds()[n];
    SCOPED_TRACE(kind.name);
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      Random random(seed, n);
      expect_contained(kind.make(random), {}, elements);
    }
  }
  EXPECT_GT(elements, 10'000);
}

TEST(DoubleDouble, ContainsTheExactResultOfRandomProblems) {
  int elements = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    expect_contained(test::random_problem(seed), {}, elements);
  }
  EXPECT_GT(elements, 10'000);
}

TEST(DoubleDouble, AHeadInChunksGivesTheSameValues) {
  int elements = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const Problem problem = test::random_problem(seed);
    if (!has_tier(problem, Tier::dd_scores)) continue;
    const DdOptions chunks{.terms = {}, .head_bytes = 1};  // 8 keys at a time
    expect_contained(problem, chunks, elements);
    const auto whole = double_double_tier(problem);
    const auto pieces = double_double_tier(problem, chunks);
    for (std::int64_t r = 0; r < output_shape(problem).rows; ++r) {
      const RowBalls a = whole->row(r, Tier::dd, 0);
      const RowBalls b = pieces->row(r, Tier::dd, 0);
      EXPECT_EQ(a.tier, b.tier);
      EXPECT_EQ(a.lse.hi, b.lse.hi);
      EXPECT_EQ(a.lse.lo, b.lse.lo);
      for (std::size_t c = 0; c < a.o.size(); ++c) {
        EXPECT_EQ(a.o[c].hi, b.o[c].hi);
        EXPECT_EQ(a.o[c].lo, b.o[c].lo);
        EXPECT_EQ(a.o[c].radius, b.o[c].radius);
      }
    }
  }
  EXPECT_GT(elements, 1000);
}

/// One row; a tier refers to its problem, so a problem must not be a temporary.
RowBalls one_row(const Problem& problem, std::int64_t row, Tier tier) {
  return double_double_tier(problem)->row(row, tier, 0);
}

/// Largest radius over Σ p|v| of its element.
double widest(const AttentionProblem& attention, Tier tier) {
  AttentionProblem magnitudes = attention;
  for (std::int64_t n = 0; n < attention.v.elements(); ++n) {  // dense
    const double v = decode(attention.v.format, attention.v.bits(n));
    magnitudes.v.set_bits(n, encode(attention.v.format, std::fabs(v)));
  }
  const Problem problem = attention;
  const ReferenceResult<double> scale = reference<double>(magnitudes);
  const auto dd = double_double_tier(problem);
  double worst = 0;
  for (std::int64_t r = 0; r < output_shape(problem).rows; ++r) {
    const RowBalls row = dd->row(r, tier, 0);
    for (std::size_t c = 0; c < row.o.size(); ++c) {
      worst = std::max(worst, row.o[c].radius / scale.o[r * row.o.size() + c]);
    }
  }
  return worst;
}

AttentionProblem usual(std::uint64_t seed, test::AttentionSize size) {
  Random random(seed, 0);
  return test::attention(Format::f32, size, test::normal(random), test::normal(random), test::normal(random));
}

TEST(DoubleDouble, IsNarrowOnOrdinaryData) {
  AttentionProblem p = usual(1, {.sq = 4, .sk = 1024, .d = 128, .dv = 24});
  p.scale = 0.08838835F;
  EXPECT_LT(widest(p, Tier::dd), 0x1p-88);
  // 63 roundings at most of u each, and twice 3 u for the weights of N and L.
  EXPECT_LT(widest(p, Tier::dd_scores), 70 * 0x1p-53);
}

TEST(DoubleDouble, IsNarrowWhereTheColumnsOfVSpan60Bits) {
  AttentionProblem p = usual(2, {.sq = 4, .sk = 256, .d = 64, .dv = 16});
  Random random(2, 1);
  const test::Draw draw = test::log_uniform(random, -30, 30);
  for (std::int64_t n = 0; n < p.v.elements(); ++n) p.v.set_bits(n, encode(Format::f32, draw()));
  EXPECT_LT(widest(p, Tier::dd), 0x1p-86);
}

TEST(DoubleDouble, DotsThatCancelAt2To40StayNarrow) {
  AttentionProblem p = usual(3, {.sq = 4, .sk = 64, .d = 64, .dv = 8});
  for (std::int64_t j = 0; j < 64; ++j) {
    const double large = std::ldexp(1.1 + 0.01 * static_cast<double>(j), 20);
    p.k.set({0, 0, j, 0}, large);
    p.k.set({0, 0, j, 63}, -large);
  }
  for (std::int64_t i = 0; i < 4; ++i) {
    p.q.set({0, 0, i, 0}, 0x1.5p20);
    p.q.set({0, 0, i, 63}, 0x1.5p20);
  }
  EXPECT_LT(widest(p, Tier::dd), 0x1p-80);
  EXPECT_LT(widest(p, Tier::dd_scores), 70 * 0x1p-53);
}

TEST(DoubleDouble, OneHotRowsAt1e76AreExactButForTheOthersWeights) {
  Random random(4, 0);
  const test::Draw huge = test::normal(random, 5e37);
  const Problem problem = test::attention(Format::f32, {.sq = 8}, huge, huge, test::normal(random));
  const auto dd = double_double_tier(problem);
  for (const Tier tier : {Tier::dd, Tier::dd_scores}) {
    for (std::int64_t r = 0; r < 8; ++r) {
      const RowBalls row = dd->row(r, tier, 0);
      // |v| <= 6. Twelve keys: twelve roundings at most of v·1 + 0 + 0 + ...
      for (const Ball& ball : row.o) EXPECT_LE(ball.radius, tier == Tier::dd ? 0x1p-700 : 6 * 12.01 * 0x1p-53);
      EXPECT_GT(std::fabs(row.lse.hi), 1e70);
      EXPECT_LE(row.lse.radius, 0x1p-98 * std::fabs(row.lse.hi));  // scores are sums of a few numbers of 1e76
    }
  }
}

TEST(DoubleDouble, TiesAreExact) {
  // Four equal scores; sums of a few bits: every rounding is known to be none.
  AttentionProblem p = usual(5, {.sq = 1, .sk = 4, .d = 2, .dv = 3});
  p.scale = 0.0F;
  for (std::int64_t j = 0; j < 4; ++j) {
    p.v.set({0, 0, j, 0}, static_cast<double>(j));
    p.v.set({0, 0, j, 1}, 0.0);
    p.v.set({0, 0, j, 2}, j < 2 ? 1e30 : -1e30);
  }
  const RowBalls row = one_row(p, 0, Tier::dd);
  EXPECT_EQ(row.o[0].hi, 1.5);
  EXPECT_EQ(row.o[1].hi, 0.0);
  EXPECT_EQ(row.o[2].hi, 0.0);
  for (const Ball& ball : row.o) EXPECT_EQ(ball.radius, 0.0);
}

TEST(DoubleDouble, ARowOfWhichNothingIsKnownSaysSo) {
  // Two dots that agree in 1e76 and differ below what a double-double of that size holds; or differ, nobody knows.
  AttentionProblem p = usual(6, {.sq = 1, .sk = 2, .d = 4, .dv = 1});
  const double q[] = {1e38, 1e38, 1.0, 1.0};
  const double k[] = {1e38, -3e37, 1e-38, 1.0};
  for (std::int64_t c = 0; c < 4; ++c) {
    p.q.set({0, 0, 0, c}, q[c]);
    p.k.set({0, 0, 0, c}, k[c]);
    p.k.set({0, 0, 1, c}, c == 3 ? 3.0 : k[c]);
  }
  for (const Tier tier : {Tier::dd, Tier::dd_scores}) {
    const RowBalls row = one_row(p, 0, tier);
    EXPECT_EQ(row.o[0].radius, kInfinity);
    EXPECT_EQ(row.o[0].classes, kFinite);
  }
}

TEST(DoubleDouble, SpecialValuesFollowTheSharedRules) {
  AttentionProblem p = usual(7, {.sq = 1, .sk = 3, .d = 2, .dv = 2});
  const auto row = [](const AttentionProblem& problem) { return one_row(problem, 0, Tier::dd); };
  AttentionProblem poisoned = p;
  poisoned.k.set({0, 0, 1, 0}, kNan);
  EXPECT_EQ(row(poisoned).o[0].classes, kNaN);
  EXPECT_EQ(row(poisoned).tier, Tier::symbolic);
  AttentionProblem empty = p;
  empty.key_length = {0};
  EXPECT_EQ(row(empty).lse.classes, kNegInf);
  AttentionProblem infinite = p;
  infinite.v.set({0, 0, 2, 1}, kInfinity);
  EXPECT_EQ(row(infinite).o[1].classes, kPosInf | kNaN);
  EXPECT_EQ(row(infinite).o[0].classes, kFinite);
  EXPECT_LT(row(infinite).o[0].radius, 0x1p-80);
  EXPECT_EQ(row(infinite).tier, Tier::dd);
  p.softcap = 5.0F;
  EXPECT_FALSE(has_double_double_tier(Problem(p)));
}

bool same(const Ball& a, const Ball& b) {
  return a.hi == b.hi && a.lo == b.lo && a.radius == b.radius && a.classes == b.classes;
}

TEST(DoubleDouble, TheBitsDoNotDependOnTheVectorWidth) {
  if ((hwy::SupportedTargets() & HWY_AVX3) == 0) GTEST_SKIP() << "this CPU has one of the two targets only";
  std::vector<RowBalls> rows[2];
  for (int pass = 0; pass < 2; ++pass) {
    hwy::SetSupportedTargetsForTest(pass == 0 ? HWY_AVX2 : HWY_AVX3);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const Problem problem = test::random_problem(seed);
      for (const Tier tier : {Tier::dd, Tier::dd_scores}) {
        if (!has_tier(problem, tier)) continue;
        const auto dd = double_double_tier(problem);
        for (std::int64_t r = 0; r < output_shape(problem).rows; ++r) rows[pass].push_back(dd->row(r, tier, 0));
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  ASSERT_EQ(rows[0].size(), rows[1].size());
  ASSERT_GT(rows[0].size(), 500U);
  for (std::size_t r = 0; r < rows[0].size(); ++r) {
    EXPECT_TRUE(same(rows[0][r].lse, rows[1][r].lse));
    for (std::size_t c = 0; c < rows[0][r].o.size(); ++c) EXPECT_TRUE(same(rows[0][r].o[c], rows[1][r].o[c]));
  }
}

TEST(DoubleDouble, TheBytesOfALongRow) {
  AttentionProblem p = usual(8, {.sq = 1, .sk = 8, .d = 64, .dv = 64});
  const std::int64_t small = double_double_tier_bytes(Problem(p));
  EXPECT_GT(small, 8 * 2 * 64 * 8);
  p.k.shape[2] = p.v.shape[2] = 1 << 20;  // the shape alone is read
  const std::int64_t large = double_double_tier_bytes(Problem(p));
  EXPECT_GT(large, std::int64_t{256} << 20);
  EXPECT_LT(large, std::int64_t{384} << 20);  // not the 1 GiB of the decoded head
}

}  // namespace
}  // namespace flashproof
