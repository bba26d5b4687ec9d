// What the exhaustive test of det_math.h asserts.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>

#include "kernels/simt/det_math/det_error.h"
#include "kernels/simt/det_math/det_math.h"
#include "kernels/simt/det_math/det_math_sweep.h"
#include "kernels/simt/det_math/det_math_truth.h"
#include "kernels/simt/det_math/det_tanh_sweep.h"

namespace flashproof::det_test {

/// `bound` holds for what was measured, the slack of the truth included, and is at most 1/0.9 of it.
inline void expect_tight(const char* what, double measured, double slack, double bound, double unit) {
  EXPECT_LE(measured + slack, bound) << what;
  EXPECT_GE(measured, 0.9 * bound) << what << ": the stated constant is slack";
  std::printf("%s: %.6f, stated %.6f\n", what, measured / unit, bound / unit);
}

/// The worst inputs again, this time exactly; the sweep's own figure must agree within the slack it claims.
template <MpfrFunction function, class F>
void expect_exact(F f, const Worst& worst, bool normal, double bound) {
  ASSERT_EQ(worst.samples().size(), 1000u);
  for (const Sample& sample : worst.samples()) {
    const ExactError exact = exact_error<function>(f(sample.x), sample.x);
    EXPECT_EQ(exact.magnitude >= 0x1p-126, normal) << sample.x;
    const double error = normal ? exact.relative : exact.absolute;
    const double swept = normal ? sample.error : sample.error * 0x1p-149;
    EXPECT_LE(error, bound) << sample.x;
    EXPECT_NEAR(error, swept, normal ? kTruthSlack : kTruthSlack * 0x1p-126) << sample.x;
  }
}

template <MpfrFunction function, class F>
void judge_exp(F f, const Result& result, double bound, double subnormal_bound) {
  EXPECT_EQ(result.patterns, 1ull << 32);
  EXPECT_EQ(result.wrong_constants, 0u) << "first at " << result.wrong_constant_at;
  expect_tight("relative error / 2^-24", result.normal.worst().error, kTruthSlack, bound, 0x1p-24);
  expect_tight("subnormal error / 2^-149", result.subnormal.worst().error * 0x1p-149, kTruthSlack * 0x1p-126,
               subnormal_bound, 0x1p-149);
  expect_exact<function>(f, result.normal, true, bound);
  expect_exact<function>(f, result.subnormal, false, subnormal_bound);
}

template <MpfrFunction function, class F>
void judge_log(F f, const Result& result, double bound) {
  EXPECT_EQ(result.patterns, 1ull << 32);
  EXPECT_EQ(result.wrong_constants, 0u) << "first at " << result.wrong_constant_at;
  expect_tight("relative error / 2^-24", result.normal.worst().error, kTruthSlack, bound, 0x1p-24);
  expect_exact<function>(f, result.normal, true, bound);
  for (const Sample& sample : result.subnormal.samples()) EXPECT_EQ(sample.error, 0) << sample.x;  // log 1 = 0
}

template <MpfrFunction function, class F>
void judge_tanh(F f, const TanhResult& result, double bound) {
  EXPECT_EQ(result.patterns, 1ull << 32);
  EXPECT_EQ(result.wrong_constants, 0u);
  EXPECT_EQ(result.not_odd, 0u);
  expect_tight("absolute error / 2^-24", result.absolute.worst().error, kTruthSlack, bound, 0x1p-24);
  EXPECT_LE(result.relative + kTruthSlack, kDetTanhRelativeError);
  for (const Sample& sample : result.absolute.samples()) {
    const ExactError exact = exact_error<function>(f(sample.x), sample.x);
    EXPECT_LE(exact.absolute, bound) << sample.x;
    EXPECT_NEAR(exact.absolute, sample.error, kTruthSlack) << sample.x;
  }
}

// Lambdas, so that the sweeps inline and vectorise them.
inline constexpr auto kExp = [](float x) { return FP_EXECUTOR::det_exp(x); };
inline constexpr auto kExp2 = [](float x) { return FP_EXECUTOR::det_exp2(x); };
inline constexpr auto kLog = [](float x) { return FP_EXECUTOR::det_log(x); };
inline constexpr auto kLog2 = [](float x) { return FP_EXECUTOR::det_log2(x); };
inline constexpr auto kTanh = [](float x) { return FP_EXECUTOR::det_tanh(x); };

}  // namespace flashproof::det_test
