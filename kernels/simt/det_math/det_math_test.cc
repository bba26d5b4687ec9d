// Special values, the maximum, and negative controls: a spoiled coefficient must be noticed by both checkers.
#include "kernels/simt/det_math/det_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/simt/det_math/det_error.h"
#include "kernels/simt/det_math/det_math_golden.h"
#include "kernels/simt/det_math/det_tanh_sweep.h"

namespace flashproof::det_test {
namespace {

using namespace flashproof::FP_EXECUTOR;  // NOLINT: the functions under test

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kMax = std::numeric_limits<float>::max();
constexpr std::uint32_t kNanBits = 0x7fffffff;
const float kNans[] = {from_bits(0x7fc00000), from_bits(0xffc00000), from_bits(0x7f800001), from_bits(0xffffffff)};

TEST(DetMath, ExponentialsOfSpecialValues) {
  for (const auto f : {+[](float x) { return det_exp(x); }, +[](float x) { return det_exp2(x); },
                       +[](float x) { return det_exp_scaled(x); }}) {
    EXPECT_EQ(to_bits(f(0.0f)), 0x3f800000u);
    EXPECT_EQ(to_bits(f(-0.0f)), 0x3f800000u);
    EXPECT_EQ(to_bits(f(kInf)), 0x7f800000u);
    EXPECT_EQ(to_bits(f(-kInf)), 0u);
    EXPECT_EQ(to_bits(f(kMax)), 0x7f800000u);
    EXPECT_EQ(to_bits(f(-kMax)), 0u);
    for (const float nan : kNans) EXPECT_EQ(to_bits(f(nan)), kNanBits);
  }
}

TEST(DetMath, Exp2IsExactAtIntegersAndAtTheEdges) {
  for (int n = -149; n <= 127; ++n) EXPECT_EQ(det_exp2(static_cast<float>(n)), std::ldexp(1.0f, n)) << n;
  EXPECT_EQ(to_bits(det_exp2(-150.0f)), 0u);  // 2^-150 is a tie, and 0 is even
  EXPECT_EQ(det_exp2(std::nextafter(-150.0f, 0.0f)), 0x1p-149f);
  EXPECT_EQ(det_exp2(128.0f), kInf);
  EXPECT_LT(det_exp2(std::nextafter(128.0f, 0.0f)), kInf);
}

TEST(DetMath, LogarithmsOfSpecialValues) {
  for (const auto f : {+[](float x) { return det_log(x); }, +[](float x) { return det_log2(x); }}) {
    EXPECT_EQ(to_bits(f(1.0f)), 0u);
    EXPECT_EQ(f(0.0f), -kInf);
    EXPECT_EQ(f(-0.0f), -kInf);
    EXPECT_EQ(f(kInf), kInf);
    for (const float x : {-0x1p-149f, -1.0f, -kMax, -kInf}) EXPECT_EQ(to_bits(f(x)), kNanBits) << x;
    for (const float nan : kNans) EXPECT_EQ(to_bits(f(nan)), kNanBits);
  }
  for (int n = -149; n <= 127; ++n) EXPECT_EQ(det_log2(std::ldexp(1.0f, n)), static_cast<float>(n)) << n;
}

TEST(DetMath, TanhOfSpecialValues) {
  EXPECT_EQ(to_bits(det_tanh(0.0f)), 0u);
  EXPECT_EQ(to_bits(det_tanh(-0.0f)), 0x80000000u);
  for (const float x : {10.0f, kMax, kInf}) {
    EXPECT_EQ(det_tanh(x), 1.0f);
    EXPECT_EQ(det_tanh(-x), -1.0f);
  }
  EXPECT_EQ(det_tanh(0x1p-149f), 0x1p-149f);
  for (const float nan : kNans) EXPECT_EQ(to_bits(det_tanh(nan)), kNanBits);
}

TEST(DetMath, ExpScaledIsExp2OfTheRoundedProduct) {
  for (const float x : {-1e-3f, -0.3f, -1.0f, -17.25f, -80.0f, -100.0f, 3.5f, 88.0f}) {
    const auto product = static_cast<float>(static_cast<double>(x) * static_cast<double>(0x1.715476p+0f));
    EXPECT_EQ(to_bits(det_exp_scaled(x)), to_bits(det_exp2(product))) << x;
  }
}

TEST(DetMath, MaximumOfAllPairsOfSpecialValues) {
  const float values[] = {-kInf, -kMax, -1.0f, -0x1p-149f, -0.0f, 0.0f, 0x1p-149f, 1.0f, kMax, kInf};  // ascending
  for (const float a : values) {
    for (const float b : values) {
      const float larger = a > b || (a == b && !std::signbit(a)) ? a : b;
      EXPECT_EQ(to_bits(max_nan(a, b)), to_bits(larger)) << a << ' ' << b;
    }
    for (const float nan : kNans) {
      EXPECT_EQ(to_bits(max_nan(a, nan)), kNanBits);
      EXPECT_EQ(to_bits(max_nan(nan, a)), kNanBits);
    }
  }
  EXPECT_EQ(to_bits(max_nan(kNans[0], kNans[1])), kNanBits);
}

// Negative controls. One coefficient of each polynomial has its last hexadecimal digit changed.
struct SpoiledExp : ExpCoefficients {
  static constexpr float c2 = 0x1.00001p-1f;
};
struct SpoiledExp2 : Exp2Coefficients {
  static constexpr float c1 = 0x1.62e438p-1f;
};
struct SpoiledLog : LogCoefficients {
  static constexpr float c3 = 0x1.555576p-2f;
};
struct SpoiledLog2 : Log2Coefficients {
  static constexpr float c3 = 0x1.ec70c2p-2f;
};

template <class F, class Exact>
double worst_in_binade(F f, Exact exact, float start) {
  Result result;
  sweep_exp_binade(f, exact, to_bits(start), result);
  return result.normal.worst().error;
}

template <class F, class Exact>
double worst_near_4_thirds(F f, Exact exact, double unit) {  // where the reduced argument is largest
  Result result;
  sweep_log_mantissas(f, exact, unit, 0x3faaa000, result);
  return result.normal.worst().error;
}

TEST(DetMathNegativeControl, TheErrorBoundNoticesASpoiledCoefficient) {
  const auto exp = [](double x) { return std::exp(x); };
  const auto exp2 = [](double x) { return std::exp2(x); };
  const auto log = [](double x) { return std::log(x); };
  const auto log2 = [](double x) { return std::log2(x); };
  EXPECT_LE(worst_in_binade([](float x) { return det_exp(x); }, exp, 4.0f), kDetExpError);
  EXPECT_GT(worst_in_binade([](float x) { return det::exp_with<SpoiledExp>(x); }, exp, 4.0f), kDetExpError);
  EXPECT_LE(worst_in_binade([](float x) { return det_exp2(x); }, exp2, 4.0f), kDetExp2Error);
  EXPECT_GT(worst_in_binade([](float x) { return det::exp2_with<SpoiledExp2>(x); }, exp2, 4.0f), kDetExp2Error);
  EXPECT_LE(worst_near_4_thirds([](float x) { return det_log(x); }, log, std::numbers::ln2), kDetLogError);
  EXPECT_GT(worst_near_4_thirds([](float x) { return det::log_with<SpoiledLog>(x); }, log, std::numbers::ln2),
            kDetLogError);
  EXPECT_LE(worst_near_4_thirds([](float x) { return det_log2(x); }, log2, 1), kDetLog2Error);
  EXPECT_GT(worst_near_4_thirds([](float x) { return det::log2_with<SpoiledLog2>(x); }, log2, 1), kDetLog2Error);
}

struct SpoiledTanh : TanhCoefficients {
  static constexpr float c5 = 0x1.111fa8p-3f;
};

TEST(DetMathNegativeControl, TheTanhSweepNoticesASpoiledCoefficientAndAnEvenFunction) {
  const auto exact = [](double x) { return std::tanh(x); };
  const std::uint32_t first = to_bits(0.5f);
  TanhResult good, spoiled, even;
  sweep_tanh_range([](float x) { return det_tanh(x); }, exact, first, first + 16 * kBlock, good);
  sweep_tanh_range([](float x) { return det::tanh_with<SpoiledTanh>(x); }, exact, first, first + 16 * kBlock, spoiled);
  sweep_tanh_range([](float x) { return det_tanh(std::fabs(x)); }, exact, first, first + kBlock, even);
  EXPECT_LE(good.absolute.worst().error, kDetTanhError);
  EXPECT_GT(spoiled.absolute.worst().error, kDetTanhError);
  EXPECT_EQ(even.not_odd, kBlock);
}

struct OneBit : ExpCoefficients {
  static constexpr float c3 = 0x1.555558p-3f;
};

TEST(DetMathNegativeControl, TheGoldenSumNoticesOneLastBit) {
  EXPECT_EQ(golden_sum([](float x) { return det::exp_with<ExpCoefficients>(x); }, kGoldenStride), kGoldenExp);
  EXPECT_NE(golden_sum([](float x) { return det::exp_with<OneBit>(x); }, kGoldenStride), kGoldenExp);
}

TEST(DetMathNegativeControl, TheSweepNoticesWrongConstants) {
  Result result;
  expect_constant([](float x) { return x == 0x1p-30f ? 1.5f : 1.0f; }, to_bits(0x1p-31f), 1u << 24, 0x3f800000, result);
  EXPECT_EQ(result.wrong_constants, 1u);
  EXPECT_EQ(result.wrong_constant_at, 0x1p-30f);
}

TEST(DetMathNegativeControl, TheSweepJudgesInfinityAndNan) {
  EXPECT_EQ(relative_error(kInf, 0x1p200), 0);
  EXPECT_GT(relative_error(kInf, 0x1p127), 0.4);
  EXPECT_GT(relative_error(kMax, 0x1p200), 0.4);
  const auto sometimes_nan = [](float x) { return x == 4.5f ? from_bits(kNanBits) : det_exp(x); };
  EXPECT_EQ(worst_in_binade(
                sometimes_nan, [](double x) { return std::exp(x); }, 4.0f),
            std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace flashproof::det_test
