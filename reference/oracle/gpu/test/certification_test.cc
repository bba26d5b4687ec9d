// What certification does without a GPU: the sample, the comparison, the CPU path.
#include "reference/oracle/gpu/certification.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/oracle/gpu/production_problem.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

TEST(Certification, SampleHasDistinctRowsInOrder) {
  for (const std::int64_t count : {0, 1, 7, 50, 99, 100, 1000}) {
    const auto rows = sample_rows(100, count, 3);
    EXPECT_EQ(rows.size(), std::min<std::size_t>(count, 100));
    EXPECT_TRUE(std::ranges::is_sorted(rows));
    EXPECT_EQ(std::ranges::adjacent_find(rows), rows.end());
    for (const std::int64_t row : rows) EXPECT_TRUE(row >= 0 && row < 100);
  }
  EXPECT_NE(sample_rows(1000, 10, 1), sample_rows(1000, 10, 2));
}

Truth one_row(double o, double radius) {
  Truth truth;
  truth.rows = truth.width = 1;
  truth.o = Balls(1);
  truth.lse = Balls(1);
  truth.tier = {Tier::fp64};
  truth.o.set(0, {.hi = o, .radius = radius});
  return truth;
}

TEST(Certification, OverlapIsJudgedByTheRadii) {
  const Truth a = one_row(1, 0.25);
  EXPECT_EQ(overlap(a, one_row(1.5, 0.25)).overlapping, 1);
  EXPECT_EQ(overlap(a, one_row(1.5, 0.2499)).overlapping, 0);
  EXPECT_EQ(overlap(a, one_row(0.5, 0.25)).overlapping, 1);
  EXPECT_EQ(overlap(a, one_row(0.25, 0.25)).overlapping, 0);
  EXPECT_EQ(overlap(a, one_row(9, INFINITY)).compared, 0);
  Truth nothing = one_row(1, 0.25);
  nothing.lse.set(0, {.hi = 0, .classes = kNegInf});
  EXPECT_EQ(overlap(a, nothing).overlapping, 0);
  EXPECT_EQ(overlap(nothing, nothing).overlapping, 1);
}

TEST(Certification, DataIsNormalWhateverTheThreads) {
  const ProductionShape shape{.heads = 2, .kv_heads = 1, .length = 700, .depth = 100, .format = Format::f32};
  const AttentionProblem problem = production_problem(shape, Threads(1));
  EXPECT_EQ(problem, production_problem(shape, Threads(3)));
  double mean = 0, square = 0;
  const std::int64_t n = problem.q.elements();
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = decode(Format::f32, problem.q.bits(i));
    mean += x / static_cast<double>(n), square += x * x / static_cast<double>(n);
  }
  EXPECT_NEAR(mean, 0, 5 / std::sqrt(n));          // five standard deviations of the mean
  EXPECT_NEAR(square, 1, 5 * std::sqrt(2.0 / n));  // and of the variance
  EXPECT_NE(problem.k.storage, problem.v.storage);
}

TEST(Certification, BadShapesAreNamed) {
  const auto message = [](const ProductionShape& shape) -> std::string {
    try {
      production_problem(shape, Threads(1));
    } catch (const UsageError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message({.heads = 0}), "--heads 0: must be 1..65535");
  EXPECT_EQ(message({.heads = 8, .kv_heads = 3}), "--kv-heads 3: must divide --heads 8");
  EXPECT_EQ(message({.length = 0}), "--length 0: must be 1..1048576");
  EXPECT_EQ(message({.depth = 129}), "--dim 129: must be 1..128");
  EXPECT_EQ(message({.format = Format::e5m2}), "--format: must be f32, f16 or bf16");
  EXPECT_NE(message({.heads = 64, .kv_heads = 64, .length = 1 << 20}).find("must be at most"), std::string::npos);
}

TEST(Certification, LimitOfTheOutputIsThatOfValidate) {
  // 2^31 - 1 is prime, so no shape has as many elements: 2^31 is one too many, 65535 heads x 32768 x 1 fits.
  EXPECT_THROW(check({.heads = 16, .kv_heads = 1, .length = 1 << 20, .depth = 128}), UsageError);
  EXPECT_THROW(check({.heads = 16384, .kv_heads = 1, .length = 1 << 17, .depth = 1}), UsageError);
  EXPECT_NO_THROW(check({.heads = 65535, .kv_heads = 1, .length = 1 << 15, .depth = 1}));
}

Certification fine() {
  Certification c;
  c.share.rows = 8;
  c.share.rest_c.not_bounded = 7;
  c.dd = {.compared = 1, .overlapping = 1};
  return c;
}

TEST(Certification, NothingComparedCertifiesNothing) {
  EXPECT_FALSE(Certification{}.sound());
  EXPECT_EQ(fine().fault(), "");
  Certification c = fine();
  c.share.rest_c.not_bounded = 8;
  EXPECT_EQ(c.fault(), "no row has a radius");
  c = fine(), c.dd = {};
  EXPECT_EQ(c.fault(), "no row was compared with the double-double tier");
  c = fine(), c.dd.compared = 2;
  EXPECT_EQ(c.fault(), "balls do not overlap those of the double-double tier");
  c = fine(), c.planted = true;
  EXPECT_EQ(c.fault(), "no row was compared with the fp64 tier of the CPU");
  c.fp64 = {.compared = 2, .overlapping = 1};
  EXPECT_EQ(c.fault(), "balls do not overlap those of the fp64 tier of the CPU");
  c.fp64.overlapping = 2, c.planted_scores = 1;
  EXPECT_EQ(c.fault(), "a planted error was not noticed");
  c.planted_values = 1;
  EXPECT_TRUE(c.sound());
}

// Every key is the same, so no score stands out, and errors of scores near 1e21 say nothing about a weight.
TEST(Certification, CpuSaysThatNoRowHasARadius) {
  if (!has_fp64_tier()) GTEST_SKIP() << "no AVX2 and FMA";
  AttentionProblem problem =
      production_problem({.heads = 1, .kv_heads = 1, .length = 40, .depth = 64, .format = Format::f32}, Threads(1));
  for (std::int64_t j = 0; j < 40; ++j) {
    for (std::int64_t c = 0; c < 64; ++c) {
      problem.k.set({0, 0, j, c}, problem.k.at({0, 0, 0, c}) * (1 + 0x1p-23 * static_cast<double>(j % 2)));
    }
  }
  problem.scale = 1e20F;
  const Certification result = certify_on_cpu(problem, 40, 1, Threads(1));
  EXPECT_EQ(result.share.rest_c.not_bounded, 40);
  EXPECT_EQ(result.dd.compared, 0);
  EXPECT_EQ(result.fault(), "no row has a radius");
}

TEST(Certification, InvalidProblemsAreRefused) {
  AttentionProblem problem = production_problem({.heads = 2, .kv_heads = 2, .length = 5, .depth = 16}, Threads(1));
  problem.v.storage.resize(8);
  EXPECT_THROW(certify_on_cpu(problem, 5, 1, Threads(1)), UsageError);
}

TEST(Certification, CpuCertifiesNormalData) {
  if (!has_fp64_tier()) GTEST_SKIP() << "no AVX2 and FMA";
  for (const Format format : {Format::f32, Format::f16, Format::bf16}) {
    const ProductionShape shape{
        .heads = 2, .kv_heads = 1, .length = 300, .depth = 64, .format = format, .causal = true};
    const Problem problem = production_problem(shape, Threads(1));
    const Certification result = certify_on_cpu(problem, 20, 1, Threads(1));
    EXPECT_EQ(result.rows, 600);
    EXPECT_EQ(result.share.rows, 40);
    EXPECT_EQ(result.share.elements, 40 * 64);
    EXPECT_EQ(result.share.rows_c, 40);
    EXPECT_EQ(result.share.rest_c.total(), 0);
    EXPECT_EQ(result.share.rest_strict.total(), 40 - result.share.rows_strict);
    EXPECT_EQ(result.dd.compared, 8);
    EXPECT_EQ(result.dd.overlapping, 8) << "closest " << result.dd.closest;
    EXPECT_EQ(result.fault(), "");
  }
}

}  // namespace
}  // namespace flashproof
