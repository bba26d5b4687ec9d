// The references are within kTruthError of MPFR, over every exponent and around every edge.
#include "kernels/probe/truth.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <functional>
#include <limits>

#include "kernels/probe/tally.h"
#include "reference/problem/random.h"

namespace flashproof::probe {
namespace {

using Exact = std::function<void(mpfr_t y, mpfr_t x)>;

/// |reference − exact| / |exact|; 0 where both are 0.
double relative_error(double reference, const Exact& exact, float x) {
  mpfr_t in, out;
  mpfr_inits2(160, in, out, nullptr);
  mpfr_set_flt(in, x, MPFR_RNDN);
  exact(out, in);
  double error = reference == 0 && mpfr_zero_p(out) ? 0 : std::numeric_limits<double>::infinity();
  if (!mpfr_zero_p(out)) {
    mpfr_d_sub(in, reference, out, MPFR_RNDN);
    mpfr_div(in, in, out, MPFR_RNDN);
    error = std::fabs(mpfr_get_d(in, MPFR_RNDA));
  }
  mpfr_clears(in, out, nullptr);
  return error;
}

void expect_close(const char* name, double (*reference)(double), const Exact& exact, float low, float high, bool both) {
  double worst = 0;
  float at = 0;
  const auto look = [&](float x) {
    if (!(x >= low && x <= high)) return;
    for (const float signed_x : {x, -x}) {
      if (signed_x < 0 && !both && low >= 0) continue;
      const double error = relative_error(reference(signed_x), exact, signed_x);
      if (error > worst) worst = error, at = signed_x;
    }
  };
  Random random(1, 0);
  for (int i = 0; i < 30'000; ++i) look(f32_of(random.next_u32() & 0x7fffffffU));  // every binade alike
  for (const double edge :
       {0.25, 0.5, 2.0 / 3, 1.0, 4.0 / 3, 2.0, 3.0, 40.0, 87.33, 88.72, 126.0, 127.0, 128.0, 149.0}) {
    for (std::uint32_t d = 0; d < 200; ++d) look(f32_of(bits_of(static_cast<float>(edge)) + d - 100));
  }
  for (int i = 0; i < 10'000; ++i) look(static_cast<float>(random.uniform(0, 130)));
  EXPECT_LT(worst, kTruthError / 4) << name << " at " << at;
  EXPECT_GT(worst, 0) << name << ": the comparison sees nothing";
}

TEST(Truth, is_within_a_quarter_of_its_error) {
  constexpr float kMax = std::numeric_limits<float>::max();
  const auto exp_of = [](mpfr_t y, mpfr_t x) { mpfr_exp(y, x, MPFR_RNDN); };
  const auto exp2_of = [](mpfr_t y, mpfr_t x) { mpfr_exp2(y, x, MPFR_RNDN); };
  const auto log_of = [](mpfr_t y, mpfr_t x) { mpfr_log(y, x, MPFR_RNDN); };
  const auto log2_of = [](mpfr_t y, mpfr_t x) { mpfr_log2(y, x, MPFR_RNDN); };
  const auto tanh_of = [](mpfr_t y, mpfr_t x) { mpfr_tanh(y, x, MPFR_RNDN); };
  expect_close("exp", true_exp, exp_of, -600, 600, true);
  expect_close("exp2", true_exp2, exp2_of, -900, 900, true);
  expect_close("log", true_log, log_of, 0x1p-149F, kMax, false);
  expect_close("log2", true_log2, log2_of, 0x1p-149F, kMax, false);
  expect_close("tanh", true_tanh, tanh_of, 0, kMax, true);
}

TEST(Truth, far_out_is_tiny_or_huge) {
  EXPECT_LT(true_exp(-3e38), 0x1p-900);
  EXPECT_LT(true_exp2(-3e38), 0x1p-900);
  EXPECT_GT(true_exp(3e38), 0x1p900);
  EXPECT_EQ(true_exp2(0), 1);
  EXPECT_EQ(true_exp(0), 1);
  EXPECT_EQ(true_log(1), 0);
  EXPECT_EQ(true_tanh(0), 0);
}

}  // namespace
}  // namespace flashproof::probe
