// Every ball of the device tier holds the exact value: what the tests of that share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "reference/oracle/gpu/gpu_tier.h"
#include "reference/oracle/tiers.h"

namespace flashproof {

inline constexpr int kExactBits = 256;

struct EnclosureCounts {
  std::int64_t rows = 0, bounded_rows = 0, elements = 0;
  double closest = 0;  // the largest error / radius
};

/// The exact ball lies in the device's, but for its own radius, which is below 2^-200 of the value.
inline void expect_inside(const Ball& device, const Ball& exact, EnclosureCounts& tally, const std::string& where) {
  ASSERT_EQ(device.classes, exact.classes) << where;
  if (exact.classes != kFinite) return;
  const double error = std::fabs((exact.hi - device.hi) + exact.lo);
  // The two operations above round by 2^-53 of their results.
  ASSERT_LE(error, device.radius * (1 + 0x1p-50) + exact.radius) << where << ": " << device.hi << " for " << exact.hi;
  ++tally.elements;
  if (device.radius > 0) tally.closest = std::max(tally.closest, error / device.radius);
}

/// About `count` rows of the problem, evenly spread.
inline void expect_contained(const AttentionProblem& problem, std::int64_t count, EnclosureCounts& tally,
                             const std::string& where) {
  GpuTier tier(problem);
  tier.run();
  const Truth truth = tier.truth();
  const Problem whole = problem;  // the exact tier refers to it
  const auto exact = exact_tier(whole);
  const std::int64_t step = std::max<std::int64_t>(truth.rows / count, 1);
  for (std::int64_t row = 0; row < truth.rows; row += step) {
    const std::string at = where + ", row " + std::to_string(row);
    const RowBalls balls = exact->row(row, Tier::exact, kExactBits);
    ++tally.rows;
    bool bounded = true;
    for (std::int64_t c = 0; c < truth.width; ++c) {
      const Ball ball = truth.o[row * truth.width + c];
      bounded = bounded && std::isfinite(ball.radius);
      ASSERT_NO_FATAL_FAILURE(expect_inside(ball, balls.o[c], tally, at));
    }
    ASSERT_NO_FATAL_FAILURE(expect_inside(truth.lse[row], balls.lse, tally, at + ", lse"));
    tally.bounded_rows += bounded ? 1 : 0;
  }
}

/// Skipped without a GPU; says what was compared.
class GpuContainmentTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (!gpu_tier_available(&why)) GTEST_SKIP() << why;
  }
  void TearDown() override {
    if (tally.rows == 0) return;
    std::printf("  %lld rows, %lld with a radius, %lld elements, largest error/radius %.3g\n",
                static_cast<long long>(tally.rows), static_cast<long long>(tally.bounded_rows),
                static_cast<long long>(tally.elements), tally.closest);
  }
  EnclosureCounts tally;
};

}  // namespace flashproof
