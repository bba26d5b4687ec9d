// The largest error of each unit, over every argument whose result is a normal number: what README.md's table says. The truth
// is in double, whose own error, some 2^-52, is 2^-28 ulp of an f32.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <thread>
#include <vector>

#include "kernels/special_functions/units.h"

namespace flashproof::special {
namespace {

using Unit = std::uint32_t (*)(const Tables&, std::uint32_t);
using Function = double (*)(double);

struct Largest {
  double ulp = 0, absolute = 0, relative = 0;

  void see(std::uint32_t input, Unit unit, Function truth) {
    const double exact = truth(std::bit_cast<float>(input));
    const double error = std::fabs(std::bit_cast<float>(unit(kSm90, input)) - exact);
    const double size = std::fabs(exact);
    if (!(size >= 0x1p-126 && size < 0x1p128)) return;
    ulp = std::max(ulp, error / std::ldexp(1.0, std::ilogb(size) - 23));
    absolute = std::max(absolute, error);
    relative = std::max(relative, error / size);
  }
  void merge(const Largest& other) {
    ulp = std::max(ulp, other.ulp);
    absolute = std::max(absolute, other.absolute);
    relative = std::max(relative, other.relative);
  }
};

/// Every f32 from `low` up to `high`, both of one sign, |low| < |high|.
Largest largest(Unit unit, Function truth, float low, float high) {
  const auto first = std::uint64_t{std::bit_cast<std::uint32_t>(low)},
             end = std::uint64_t{std::bit_cast<std::uint32_t>(high)};
  const std::uint64_t threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<Largest> parts(threads);
  std::vector<std::thread> workers;
  workers.reserve(threads);
  for (std::uint64_t t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      Largest mine;
      for (std::uint64_t bits = first + t; bits < end; bits += threads) {
        mine.see(static_cast<std::uint32_t>(bits), unit, truth);
      }
      parts[t] = mine;
    });
  }
  for (std::thread& worker : workers) worker.join();
  for (const Largest& part : parts) parts.front().merge(part);
  return parts.front();
}

double reciprocal(double x) { return 1 / x; }
double reciprocal_root(double x) { return 1 / std::sqrt(x); }
double root(double x) { return std::sqrt(x); }
double power(double x) { return std::exp2(x); }
double logarithm(double x) { return std::log2(x); }
double tangent(double x) { return std::tanh(x); }

constexpr double kDigit = 0.0006;  // the figures have three

TEST(Errors, rcp) { EXPECT_NEAR(largest(unit_rcp, reciprocal, 1, 2).ulp, 0.975, kDigit) << "the mantissa decides"; }
TEST(Errors, rsqrt) { EXPECT_NEAR(largest(unit_rsqrt, reciprocal_root, 1, 4).ulp, 1.514, kDigit) << "so here"; }
TEST(Errors, sqrt) { EXPECT_NEAR(largest(unit_sqrt, root, 1, 4).ulp, 0.944, kDigit) << "and here, with the parity"; }
TEST(Errors, ex2_above_0) { EXPECT_NEAR(largest(unit_ex2, power, 0x1p-126F, 128).ulp, 1.398, kDigit); }
TEST(Errors, ex2_below_0) { EXPECT_NEAR(largest(unit_ex2, power, -0x1p-126F, -126).ulp, 2.055, kDigit); }
TEST(Errors, lg2) {
  const Largest below = largest(unit_lg2, logarithm, 0x1p-126F, 0.5), above = largest(unit_lg2, logarithm, 2, 0x1p127F);
  EXPECT_NEAR(std::max(below.ulp, above.ulp), 2.300, 0.006);
  EXPECT_NEAR(std::log2(largest(unit_lg2, logarithm, 0.5, 2).absolute), -22.1, 0.06);
}
TEST(Errors, tanh) { EXPECT_NEAR(std::log2(largest(unit_tanh, tangent, 0x1p-126F, 20).relative), -16.46, 0.006); }

}  // namespace
}  // namespace flashproof::special
