// The probe passes what rounds as assumed, in any order, and fails every unit that does not.
#include "reference/oracle/gpu/probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <numeric>

namespace flashproof::gpu {
namespace {

using Sum = std::function<double(double c, const double* a, const double* b)>;

/// A unit that computes one output by `sum`.
MultiplyAdd unit(const Sum& sum) {
  return [sum](std::span<const ProbeTile> tiles) {
    std::vector<ProbeResult> results;
    for (const ProbeTile& tile : tiles) {
      ProbeResult& result = results.emplace_back();
      for (int row = 0; row < 16; ++row) {
        for (int column = 0; column < 8; ++column) {
          double b[16];
          for (int k = 0; k < 16; ++k) b[k] = tile.b[k][column];
          result.d[row][column] = sum(tile.c[row][column], tile.a[row], b);
        }
      }
    }
    return results;
  };
}

double forwards(double c, const double* a, const double* b) {
  for (int k = 0; k < 16; ++k) c = std::fma(a[k], b[k], c);
  return c;
}

TEST(Probe, AcceptsRoundToNearestInAnyOrder) {
  EXPECT_EQ(probe_failure(unit(forwards)), "");
  EXPECT_EQ(probe_failure(unit([](double c, const double* a, const double* b) {
              for (int k = 15; k >= 0; --k) c = std::fma(a[k], b[k], c);
              return c;
            })),
            "");
  // A rounding more per path, which the bounds allow: rounded products; four chains and a tree.
  EXPECT_EQ(probe_failure(unit([](double c, const double* a, const double* b) {
              for (int k = 0; k < 16; ++k) c += a[k] * b[k];
              return c;
            })),
            "");
  EXPECT_EQ(probe_failure(unit([](double c, const double* a, const double* b) {
              double part[4] = {c, 0, 0, 0};
              for (int k = 0; k < 16; ++k) part[k % 4] = std::fma(a[k], b[k], part[k % 4]);
              return (part[0] + part[1]) + (part[2] + part[3]);
            })),
            "");
}

TEST(Probe, RefusesOtherRoundings) {
  for (const int mode : {FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD}) {
    EXPECT_NE(probe_failure(unit([mode](double c, const double* a, const double* b) {
                volatile double sum = c;
                std::fesetround(mode);
                for (int k = 0; k < 16; ++k) {
                  if (a[k] != 0) sum = std::fma(a[k], b[k], sum);
                }
                std::fesetround(FE_TONEAREST);
                return static_cast<double>(sum);
              })),
              "");
  }
}

TEST(Probe, RefusesFewerBits) {
  // A sum that drops what lies 50 binades below the largest term, as a fixed-point alignment of the products would.
  EXPECT_NE(probe_failure(unit([](double c, const double* a, const double* b) {
              double largest = std::fabs(c);
              for (int k = 0; k < 16; ++k) largest = std::max(largest, std::fabs(a[k] * b[k]));
              const double quantum = std::ldexp(1.0, std::ilogb(largest) - 50);
              double sum = std::trunc(c / quantum);
              for (int k = 0; k < 16; ++k) sum += std::trunc(a[k] * b[k] / quantum);
              return sum * quantum;
            })),
            "");
  // Operands of 24 bits.
  EXPECT_NE(probe_failure(unit([](double c, const double* a, const double* b) {
              for (int k = 0; k < 16; ++k) c = std::fma(static_cast<double>(static_cast<float>(a[k])), b[k], c);
              return c;
            })),
            "");
}

TEST(Probe, RefusesFlushedSubnormals) {
  EXPECT_NE(probe_failure(unit([](double c, const double* a, const double* b) {
              const double sum = forwards(c, a, b);
              return std::fabs(sum) < 0x1p-1022 ? 0.0 : sum;
            })),
            "");
}

TEST(Probe, RefusesOneLostSlot) {
  EXPECT_NE(probe_failure(unit([](double c, const double* a, const double* b) {
              for (int k = 0; k < 15; ++k) c = std::fma(a[k], b[k], c);
              return c;
            })),
            "");
}

}  // namespace
}  // namespace flashproof::gpu
