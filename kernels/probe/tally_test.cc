// A tally finds what is planted into a function, and says nothing of one that is right.
#include "kernels/probe/tally.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/probe/probe.h"
#include "kernels/simt/det_math/det_error.h"
#include "kernels/simt/det_math/det_math.h"

namespace flashproof::probe {
namespace {

const Function& function_named(std::string_view name) {
  for (const Function& f : functions()) {
    if (f.name == name) return f;
  }
  throw std::invalid_argument(std::string(name));
}

/// The tally over every 4099th pattern and the neighbourhood of some.
template <class F>
FunctionProfile sampled(const Function& function, const F& f) {
  const Task task = task_of(function);
  ProbeCounts tally;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 4099) {
    tally.add(task, f, static_cast<std::uint32_t>(bits));
  }
  for (const float around : {0.0F, -0.0F, 1.0F, -1.0F, 2.0F, -126.0F, -87.3365F, 88.0F, 0x1p-126F, 0x1p126F,
                             std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    for (std::uint32_t d = 0; d < 64; ++d) tally.add(task, f, bits_of(around) + d - 32);
  }
  return figures(function, tally);
}

TEST(ProbeCounts, measures_the_deterministic_functions_within_their_constants) {
  const auto exp = sampled(function_named("det_exp"), [](float x) { return cpu::det_exp(x); });
  EXPECT_LE(exp.region(kNormalResults)->error, kDetExpError + 2 * kTruthError);
  EXPECT_GE(exp.region(kNormalResults)->error, 0.9 * kDetExpError);
  EXPECT_TRUE(exp.exact_at_zero);
  EXPECT_EQ(exp.above_one + exp.lost_nans + exp.invented_nans, 0U);
  EXPECT_FALSE(exp.flushes_results);
  const auto log = sampled(function_named("det_log"), [](float x) { return cpu::det_log(x); });
  EXPECT_LE(log.region(kAwayFromOne)->error, kDetLogError + 2 * kTruthError);
  EXPECT_LE(log.region("[1/2, 2], relative")->error, kDetLogError + 2 * kTruthError);
  EXPECT_EQ(log.falls + log.lost_nans + log.invented_nans, 0U);
  EXPECT_FALSE(log.flushes_inputs);
}

TEST(ProbeCounts, finds_one_wrong_result) {
  const Function& exp2 = function_named("exp2f");
  const float planted = f32_of(bits_of(-1.0F) + 3);  // the only one, and not on the grid of samples
  const auto wrong = [&](float x) { return cpu::det_exp2(x) * (x == planted ? 1 + 0x1p-10F : 1); };
  const auto profile = sampled(exp2, wrong);
  EXPECT_NEAR(profile.region(kNormalResults)->error, 0x1p-10, 0x1p-22);
  EXPECT_EQ(profile.region(kNormalResults)->worst, planted);
  // The function itself has falls of an ulp: the planted one is one more, and the largest.
  EXPECT_EQ(profile.falls, sampled(exp2, [](float x) { return cpu::det_exp2(x); }).falls + 1);
  EXPECT_NEAR(profile.largest_fall, 0x1p-10, 0x1p-18);
  const auto infinite = sampled(exp2, [&](float x) { return x == planted ? INFINITY : cpu::det_exp2(x); });
  EXPECT_EQ(infinite.region(kNormalResults)->error, INFINITY);
  const auto nan = sampled(exp2, [&](float x) { return x == planted ? NAN : cpu::det_exp2(x); });
  EXPECT_EQ(nan.region(kNormalResults)->error, INFINITY);
  EXPECT_EQ(nan.invented_nans, 1U);
}

TEST(ProbeCounts, finds_broken_laws) {
  const Function& exp2 = function_named("exp2f");
  const auto leaning = sampled(exp2, [](float x) { return std::nextafter(cpu::det_exp2(x), 2.0F); });
  EXPECT_FALSE(leaning.exact_at_zero);
  EXPECT_GT(leaning.above_one, 0U);
  EXPECT_GT(leaning.region("[-126, 0]")->bias, 0);
  const auto laundering = sampled(exp2, [](float x) { return std::isnan(x) ? 0.0F : cpu::det_exp2(x); });
  EXPECT_GT(laundering.lost_nans, 0U);
  const auto flushing = sampled(exp2, [](float x) {
    const float y = cpu::det_exp2(x);
    return y < 0x1p-126F ? 0.0F : y;
  });
  EXPECT_TRUE(flushing.flushes_results);
  EXPECT_NEAR(flushing.region(kSubnormalResults)->error, 0x1p-126, 0x1p-140);
  const Function& reciprocal = function_named("1 / x");
  const auto exact = sampled(reciprocal, [](float x) { return 1 / x; });
  EXPECT_LE(exact.region(kNormalResults)->error, 0x1p-24 + 2 * kTruthError);
  EXPECT_EQ(exact.falls, 0U);
  EXPECT_FALSE(exact.flushes_inputs);
  const auto deaf =
      sampled(reciprocal, [](float x) { return 1 / (std::fabs(x) < 0x1p-126F ? std::copysign(0.0F, x) : x); });
  EXPECT_TRUE(deaf.flushes_inputs);
}

TEST(ProbeCounts, parts_merge_into_the_whole) {
  const Function& exp2 = function_named("exp2f");
  const Task task = task_of(exp2);
  const auto f = [](float x) { return cpu::det_exp2(x); };
  ProbeCounts whole, odd, even;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    const std::uint32_t bits = i * 40009U;
    whole.add(task, f, bits);
    (i % 2 == 1 ? odd : even).add(task, f, bits);
  }
  odd.merge(even);
  const auto a = figures(exp2, whole), b = figures(exp2, odd);
  for (std::size_t i = 0; i < a.regions.size(); ++i) {
    EXPECT_EQ(a.regions[i].inputs, b.regions[i].inputs);
    EXPECT_EQ(a.regions[i].error, b.regions[i].error);
    EXPECT_EQ(bits_of(a.regions[i].worst), bits_of(b.regions[i].worst));
  }
  EXPECT_EQ(a.falls, b.falls);
}

}  // namespace
}  // namespace flashproof::probe
