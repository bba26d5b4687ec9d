// The device tier on a device: exp, the matrix instruction, planted errors, special rows. Skipped without a GPU.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "reference/oracle/fp64/vector/proven_exp.h"
#include "reference/oracle/gpu/certification.h"
#include "reference/oracle/gpu/gpu_tier.h"
#include "reference/oracle/gpu/production_problem.h"
#include "reference/problem/random.h"

namespace flashproof {
namespace {

class GpuOracle : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (!gpu_tier_available(&why)) GTEST_SKIP() << why;
  }
};

TEST_F(GpuOracle, ExpHasTheHostsBits) {
  constexpr int kArguments = 1 << 24;
  Random random(1, 24);
  std::vector<double> x = {0.0, -0.0, kExpLowest, kExpHighest, 0x1p-1074, -0x1p-1074, 0x1p-60};
  while (x.size() < kArguments) {
    const double wide = random.uniform(kExpLowest, kExpHighest);
    x.push_back(wide);
    x.push_back(wide / 512);
    x.push_back(std::ldexp(wide, -static_cast<int>(random.integer(0, 1060))));
  }
  const std::vector<double> y = gpu_proven_exp(x);
  ASSERT_EQ(y.size(), x.size());
  std::int64_t different = 0;
  for (std::size_t n = 0; n < x.size(); ++n) {
    if (std::bit_cast<std::uint64_t>(y[n]) == std::bit_cast<std::uint64_t>(proven_exp(x[n]))) continue;
    if (++different == 1) ADD_FAILURE() << "exp(" << x[n] << "): " << y[n] << ", on the host " << proven_exp(x[n]);
  }
  EXPECT_EQ(different, 0);
}

// The constructor of GpuTier runs the probe and throws if it fails (probe_test.cc says what it would notice).
TEST_F(GpuOracle, TheMatrixInstructionPassesTheProbe) {
  const AttentionProblem problem =
      production_problem({.heads = 1, .kv_heads = 1, .length = 33, .depth = 7}, Threads(1));
  EXPECT_NO_THROW(GpuTier{problem});
}

TEST_F(GpuOracle, RepeatsItsBits) {
  const AttentionProblem problem =
      production_problem({.heads = 2, .kv_heads = 1, .length = 1000, .depth = 128}, Threads(4));
  GpuTier tier(problem);
  tier.run();
  const Truth first = tier.truth();
  for (int n = 0; n < 3; ++n) {
    tier.run();
    const Truth again = tier.truth();
    for (std::size_t i = 0; i < first.o.size(); ++i) {
      ASSERT_EQ(first.o[i].hi, again.o[i].hi);
      ASSERT_EQ(first.o[i].radius, again.o[i].radius);
    }
  }
}

TEST_F(GpuOracle, RowsAreThoseOfTheWholeTruth) {
  const AttentionProblem problem =
      production_problem({.heads = 4, .kv_heads = 2, .length = 300, .depth = 96}, Threads(4));
  GpuTier tier(problem);
  tier.run();
  const Truth all = tier.truth();
  const std::vector<std::int64_t> rows = sample_rows(all.rows, 50, 5);
  const Truth some = tier.truth(rows);
  for (std::size_t n = 0; n < rows.size(); ++n) {
    for (std::int64_t c = 0; c < all.width; ++c) {
      ASSERT_EQ(some.o[n * all.width + c].hi, all.o[rows[n] * all.width + c].hi);
      ASSERT_EQ(some.o[n * all.width + c].radius, all.o[rows[n] * all.width + c].radius);
    }
    ASSERT_EQ(some.lse[n].hi, all.lse[rows[n]].hi);
  }
}

TEST_F(GpuOracle, CertifiesAndNoticesPlantedErrors) {
  for (const Format format : {Format::f32, Format::f16, Format::bf16}) {
    for (const bool causal : {false, true}) {
      const ProductionShape shape{
          .heads = 2, .kv_heads = 1, .length = 1024, .depth = 128, .format = format, .causal = causal};
      const Certification result = certify_on_gpu(production_problem(shape, Threads(4)), 32, 7, Threads(4));
      // Normal data have errors below 2^-36·0.06 (f32: 127 u·scale·‖q‖‖k‖ = 2e-13 and |v| <= 4), so an element is certified
      // if what is known of Σ p|v| is 0.06. Of 1024 keys the kernel knows a quarter, 0.2 ± 0.03. Of n keys it is below 0.06
      // with probability about (0.048 n)^n / n!: of 128 elements some with two keys (45 %), few with three (6 %), hardly any
      // with four (0.7 %). So two rows a head may miss; with one key a row is certified by theorem.
      EXPECT_GE(result.share.rows_c, result.share.rows - (causal ? 2 * shape.heads : 0));
      EXPECT_EQ(result.fp64.compared, 32);
      EXPECT_EQ(result.fp64.overlapping, 32) << "closest " << result.fp64.closest;
      EXPECT_EQ(result.dd.compared, 16);
      EXPECT_EQ(result.dd.overlapping, 16) << "closest " << result.dd.closest;
      EXPECT_GT(result.planted_scores, 0);
      EXPECT_GT(result.planted_values, 0);
      EXPECT_TRUE(result.sound());
    }
  }
}

// o is the key's v whatever the score is: README.md, "One key".
TEST_F(GpuOracle, OneKeyIsItsValue) {
  for (const Format format : {Format::f32, Format::f16, Format::bf16}) {
    AttentionProblem problem =
        production_problem({.heads = 2, .kv_heads = 1, .length = 200, .depth = 128, .format = format}, Threads(1));
    problem.window_left = problem.window_right = 0;
    GpuTier tier(problem);
    tier.run();
    EXPECT_EQ(tier.share().rows_c, tier.share().rows);
    EXPECT_EQ(tier.share().elements_strict, tier.share().elements);
    const Truth truth = tier.truth();
    for (std::int64_t row = 0; row < truth.rows; ++row) {
      for (std::int64_t c = 0; c < truth.width; ++c) {
        const Ball ball = truth.o[row * truth.width + c];
        const double v = problem.v.at({0, 0, row % 200, c});
        ASSERT_LE(std::fabs(ball.hi - v), ball.radius);
        ASSERT_LE(ball.radius, 0x1p-51 * std::fabs(v) + 0x1p-999);
      }
    }
  }
}

TEST_F(GpuOracle, RowsWithoutAKeyAreSymbolic) {
  AttentionProblem problem = production_problem({.heads = 1, .kv_heads = 1, .length = 70, .depth = 16}, Threads(1));
  problem.key_length = {0};
  GpuTier tier(problem);
  tier.run();
  const Truth truth = tier.truth();
  EXPECT_EQ(tier.share().rows_strict, 70);
  for (std::int64_t row = 0; row < 70; ++row) {
    EXPECT_EQ(truth.tier[row], Tier::symbolic);
    EXPECT_EQ(truth.lse[row].classes, kNegInf);
    EXPECT_EQ(truth.o[row * 16].hi, 0);
    EXPECT_EQ(truth.o[row * 16].radius, 0);
  }
}

}  // namespace
}  // namespace flashproof
