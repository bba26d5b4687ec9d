#include "reference/oracle/fp64/attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reference/oracle/fp64/test/attention_check.h"
#include "reference/oracle/fp64/vector/highway_targets.h"

// highway_targets.h must come first.
#include "hwy/targets.h"
#include "reference/problem/special_values.h"

namespace flashproof {
namespace {

using namespace attention64::check;

/// Shapes around every boundary of the code: panels of 16, blocks of 32, chunks, groups of 8 and blocks of 32 rows.
AttentionProblem sized_problem(Random& random) {
  constexpr Format kFormats[] = {Format::f32, Format::f16, Format::bf16};
  test::AttentionSize size;
  size.batch = random.integer(1, 2);
  size.k_heads = random.integer(1, 2);
  size.q_heads = size.k_heads * random.integer(1, 3);
  size.sq = random.integer(1, 11);
  size.sk = random.chance(0.2) ? random.integer(1, 3) : random.integer(1, 110);
  size.d = random.chance(0.3) ? random.integer(1, 3) : random.integer(1, 70);
  size.dv = random.integer(1, 35);
  const double spread = std::ldexp(1.0, static_cast<int>(random.integer(-3, 5)));
  AttentionProblem p = test::attention(kFormats[random.integer(0, 2)], size, test::normal(random, spread),
                                       test::normal(random), test::normal(random), random.chance(0.5));
  if (random.chance(0.4)) p.causal = true;
  if (random.chance(0.3)) p.window_left = static_cast<std::int32_t>(random.integer(0, 50));
  if (random.chance(0.2)) p.window_right = static_cast<std::int32_t>(random.integer(0, 20));
  if (random.chance(0.3))
    p.softcap = static_cast<float>(std::ldexp(1.0 + random.uniform(), static_cast<int>(random.integer(-6, 8))));
  if (random.chance(0.3)) {
    p.alibi = test::filled(Format::f32, {size.batch, size.q_heads}, [&] { return random.normal(); });
  }
  if (random.chance(0.3)) {
    p.sink = test::filled(Format::f32, {size.q_heads},
                          [&] { return random.chance(0.2) ? -kInfinity : 5 * random.normal(); });
  }
  const int form = static_cast<int>(random.integer(0, 3));
  if (form == 1) return test::in_pages(p, random.integer(1, 40), random);
  if (form == 2) return test::in_one_pack(p);
  if (random.chance(0.4)) {
    p.bias = test::filled(
        Format::f32, {size.batch, size.q_heads, size.sq, size.sk},
        [&] { return random.chance(0.2) ? -kInfinity : 3 * random.normal(); }, random.chance(0.5));
  }
  if (random.chance(0.3)) {
    for (std::int64_t b = 0; b < size.batch; ++b)
      p.key_length.push_back(static_cast<std::int32_t>(random.integer(0, size.sk)));
    test::poison_unused(p);
  }
  return p;
}

std::vector<AttentionOptions> chunkings() {
  std::vector<AttentionOptions> all(4);
  all[1].chunk = 32;  // many chunks, all packed at once
  all[1].growth = 0;  // m moves with every larger score
  all[2].chunk = 64;
  all[2].pack_bytes = 0;  // one chunk packed at a time: the sums outlive the tasks
  all[3].chunk = 32;
  all[3].growth = 0;
  all[3].pack_bytes = 40000;
  return all;
}

TEST(Fp64Attention, HardKindsAreContained) {
  for (std::size_t kind = 0; kind < test::hard_kinds().size(); ++kind) {
    SCOPED_TRACE(test::hard_kinds()[kind].name);
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      Random random(seed, kind);
      const Problem problem = test::hard_kinds()[kind].make(random);
      if (kind_of(problem) != ProblemKind::attention) break;
      for (const AttentionOptions& options : chunkings()) {
        const EnclosureCounts tally = check_tier0(std::get<AttentionProblem>(problem), options);
        EXPECT_EQ(tally.violations + tally.wrong_class, 0) << seed;
      }
    }
  }
}

TEST(Fp64Attention, RandomMixturesAreContained) {
  EnclosureCounts total;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Problem problem = test::random_problem(seed);
    if (kind_of(problem) == ProblemKind::attention) total += check_tier0(std::get<AttentionProblem>(problem));
    ASSERT_EQ(total.violations + total.wrong_class, 0) << seed;
  }
  EXPECT_GT(total.elements, 3000);
  EXPECT_EQ(total.unbounded, 0);
  EXPECT_EQ(total.wide, 0);
}

TEST(Fp64Attention, ShapesAroundEveryBoundaryAreContained) {
  EnclosureCounts total;
  for (std::uint64_t seed = 0; seed < 48; ++seed) {
    Random random(seed, 77);
    const AttentionProblem problem = sized_problem(random);
    ASSERT_NO_THROW(validate(problem)) << seed;
    const AttentionOptions options = chunkings()[seed % 4];
    total += check_tier0(problem, options);
    ASSERT_EQ(total.violations + total.wrong_class, 0) << seed;
    ASSERT_EQ(total.unbounded + total.wide, 0) << seed;
  }
  EXPECT_GT(total.elements, 10000);
}

/// Bits of every ball, and of every cause.
void expect_same(const Tier0& a, const Tier0& b) {
  ASSERT_EQ(a.truth.o.size(), b.truth.o.size());
  const auto same = [](const Ball& x, const Ball& y) {
    return x.hi == y.hi && x.lo == y.lo && x.radius == y.radius && x.classes == y.classes;
  };
  for (std::size_t i = 0; i < a.truth.o.size(); ++i) ASSERT_TRUE(same(a.truth.o[i], b.truth.o[i])) << i;
  for (std::size_t i = 0; i < a.truth.lse.size(); ++i) {
    ASSERT_TRUE(same(a.truth.lse[i], b.truth.lse[i])) << i;
    ASSERT_EQ(a.truth.tier[i], b.truth.tier[i]);
    ASSERT_EQ(a.cause[i].score_error, b.cause[i].score_error);
    ASSERT_EQ(a.cause[i].scores_dominate, b.cause[i].scores_dominate);
  }
}

TEST(Fp64Attention, ThreadsDoNotChangeABit) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    Random random(seed, 78);
    AttentionProblem problem = sized_problem(random);
    if (seed % 3 == 0) {  // more than one block of rows in a head
      problem = test::attention(Format::f32, {.sq = 100, .sk = 130, .d = 20, .dv = 20}, test::normal(random),
                                test::normal(random), test::normal(random));
      problem.causal = true;
    }
    const AttentionOptions options = chunkings()[seed % 4];
    const Tier0 one = run_tier0(problem, options);
    expect_same(one, run_tier0(problem, options, 2));
    expect_same(one, run_tier0(problem, options, 5));
  }
}

TEST(Fp64Attention, VectorWidthDoesNotChangeABit) {
  int targets = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed, 79);
    const AttentionProblem problem = sized_problem(random);
    const AttentionOptions options = chunkings()[seed % 4];
    const Tier0 best = run_tier0(problem, options);
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      const Tier0 other = run_tier0(problem, options);
      hwy::SetSupportedTargetsForTest(0);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      expect_same(best, other);
      ++targets;
    }
  }
  RecordProperty("comparisons", targets);
  EXPECT_GE(targets, 40);
}

TEST(Fp64Attention, ARowDoesNotDependOnTheRowsBesideIt) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    Random random(seed, 80);
    const AttentionProblem problem = sized_problem(random);
    const AttentionOptions options = chunkings()[seed % 4];
    const Tier0 all = run_tier0(problem, options);
    std::vector<std::int64_t> some;
    for (std::int64_t r = 0; r < all.truth.rows; ++r) {
      if (random.chance(0.3)) some.push_back(r);
    }
    if (some.empty()) some.push_back(all.truth.rows - 1);
    const Tier0 part = run_tier0(problem, options, 1, some);
    for (std::size_t n = 0; n < some.size(); ++n) {
      const auto row = static_cast<std::size_t>(some[n]);
      ASSERT_EQ(part.truth.lse[n].hi, all.truth.lse[row].hi);
      ASSERT_EQ(part.truth.lse[n].radius, all.truth.lse[row].radius);
      for (std::size_t c = 0; c < static_cast<std::size_t>(all.truth.width); ++c) {
        const Ball a = part.truth.o[n * all.truth.width + c];
        const Ball b = all.truth.o[row * all.truth.width + c];
        ASSERT_TRUE(a.hi == b.hi && a.radius == b.radius && a.classes == b.classes);
      }
    }
  }
}

TEST(Fp64Attention, OneKeyIsExact) {
  Random random(3, 81);
  const AttentionProblem problem = test::attention(Format::f32, {.sq = 9, .sk = 1, .d = 16, .dv = 16},
                                                   test::normal(random), test::normal(random), test::normal(random));
  const Tier0 tier = run_tier0(problem);
  for (std::int64_t i = 0; i < 9; ++i) {
    for (std::int64_t c = 0; c < 16; ++c) {
      EXPECT_EQ(tier.truth.o[i * 16 + c].hi, problem.v.at({0, 0, 0, c}));
      EXPECT_LE(tier.truth.o[i * 16 + c].radius, 0x1p-899);
    }
  }
}

TEST(Fp64Attention, OneHeavyKeyAtHugeMagnitudesIsCertified) {
  // Scores at 1e76, where rounding alone is e^(1e60): only the gap to the largest score decides.
  Random random(4, 82);
  EnclosureCounts total;
  for (int n = 0; n < 10; ++n) {
    const AttentionProblem problem =
        test::attention(Format::f32, {.sq = 20, .sk = 70, .d = 12, .dv = 9}, test::normal(random, 5e37),
                        test::normal(random, 5e37), test::normal(random, 5e37));
    total += check_tier0(problem, chunkings()[static_cast<std::size_t>(n % 4)]);
  }
  EXPECT_EQ(total.violations + total.wrong_class + total.unbounded + total.wide, 0);
}

// m is a score as top_score() rounds it, x comes from another order of additions. Both may be off by far more than a nat
// while x has no error at all: then Exp would leave its range, or every weight be tiny and the sums underflow.
TEST(Fp64Attention, ARoundedReferenceFarFromTheExactScore) {
  struct Sums {
    double product, bias;  // of key 0; key 1 is far below
  };
  const Sums cases[] = {{0x1p63, 1024},    {0x1p63, 768},   {1024, 0x1p63},   {0x1p100, 0x1p47},
                        {-642.5, -0x1p64}, {-0x1p64, -700}, {-1000, -0x1p64}, {-0x1p100, -0x1p47},
                        {0x1p63, -0x1p63}, {16, 0x1p60},    {0x1p60, 18},     {-0x1p64, 0x1p64}};
  for (const auto& [product, bias] : cases) {
    SCOPED_TRACE(testing::Message() << product << " + " << bias);
    const test::Draw one = [] { return 1.0; };
    AttentionProblem p =
        test::attention(Format::f32, {.sq = 1, .sk = 2, .d = 1, .dv = 2}, one, [&] { return product; }, one);
    p.scale = 1.0F;
    p.v.set({0, 0, 0, 0}, 0x1p-126);
    p.bias = test::filled(Format::f32, {1, 1, 1, 2}, [&] { return bias; });
    p.bias.set({0, 0, 0, 1}, bias - 0x1p120);
    const EnclosureCounts tally = check_tier0(p);
    EXPECT_EQ(tally.wrong_class, 0);
    EXPECT_EQ(tally.violations, 0);
    EXPECT_EQ(tally.unbounded, 0);
    const Ball o = run_tier0(p).truth.o[0];
    EXPECT_EQ(o.hi, 0x1p-126);
    EXPECT_LE(o.radius, 0x1p-50 * 0x1p-126);
  }
}

TEST(Fp64Attention, EqualHugeScoresAreLeftToOtherTiers) {
  Random random(5, 83);
  const AttentionProblem problem = test::attention(
      Format::f32, {.sq = 3, .sk = 6, .d = 3, .dv = 2}, [] { return 1.7e35; }, [] { return 1.3e35; },
      test::normal(random));
  const Tier0 tier = run_tier0(problem);
  for (std::int64_t r = 0; r < 3; ++r) {
    EXPECT_EQ(tier.cause[r].score_error, kInfinity);
    EXPECT_TRUE(tier.cause[r].scores_dominate);
    for (std::int64_t c = 0; c < 2; ++c) {
      EXPECT_EQ(tier.truth.o[r * 2 + c].radius, kInfinity);
      EXPECT_EQ(tier.truth.o[r * 2 + c].classes, kFinite);
    }
  }
}

TEST(Fp64Attention, ExactDotProductsAreRecognised) {
  Random random(6, 84);
  const auto cause = [&](Format format) {
    const AttentionProblem problem = test::attention(format, {.sq = 8, .sk = 64, .d = 64, .dv = 8},
                                                     test::normal(random), test::normal(random), test::normal(random));
    AttentionOptions options;
    options.terms.argument = 0;  // leaves what the dot products are charged with
    double largest = 0.0;
    for (const RowCause& row : run_tier0(problem, options).cause) largest = std::max(largest, row.score_error);
    return largest;
  };
  EXPECT_EQ(cause(Format::f16), 0.0);
  EXPECT_EQ(cause(Format::bf16), 0.0);
  EXPECT_GT(cause(Format::f32), 0x1p-52);
}

// Negative controls: what happens without a part of the argument.

TEST(Fp64AttentionControl, ALooseCertificateIsNoticed) {
  std::int64_t violations = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Random random(seed, 85);
    const AttentionProblem problem =
        test::attention(Format::f32, {.sq = 8, .sk = 20, .d = 64, .dv = 8}, test::normal(random, 64.0),
                        test::normal(random), test::normal(random));
    AttentionOptions options;
    options.terms.certificate = 0x1p90;
    violations += check_tier0(problem, options).violations;
  }
  EXPECT_GT(violations, 0);
}

TEST(Fp64AttentionControl, WithoutRadiusNothingIsContained) {
  Random random(7, 86);
  const AttentionProblem problem = test::attention(Format::f32, {.sq = 8, .sk = 100, .d = 64, .dv = 16},
                                                   test::normal(random), test::normal(random), test::normal(random));
  AttentionOptions options;
  options.terms.scores = options.terms.argument = options.terms.exp = options.terms.sum = options.terms.values = 0;
  options.terms.output = options.terms.log.residual = options.terms.log.exp = 0;
  const EnclosureCounts tally = check_tier0(problem, options);
  EXPECT_GT(tally.violations, tally.elements * 9 / 10);
}

}  // namespace
}  // namespace flashproof
