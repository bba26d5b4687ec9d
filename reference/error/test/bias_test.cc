// The bias statistic: a planted bias shows, what chance does not; and it is a monoid of rows.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "reference/error/test/scene.h"
#include "reference/problem/random.h"

namespace flashproof {
namespace {

/// A number of the format next to x: the one below, or either by chance so that the mean is x.
using Rounding = std::function<double(Format format, double x, Random& random)>;

double below(Format format, double x) {
  const double near = round_to(format, x);
  return near <= x ? near : near - ulp(format, near) * (near == std::exp2(std::ilogb(near)) ? 0.5 : 1);
}

double rounded_down(Format format, double x, Random&) { return below(format, x); }
double rounded_to_nearest(Format format, double x, Random&) { return round_to(format, x); }
double rounded_by_chance(Format format, double x, Random& random) {
  const double low = below(format, x);
  const double step = ulp(format, low);
  return random.uniform() < (x - low) / step ? low + step : low;
}

/// Positive outputs of size 1..2, every one rounded by `rounding`. The columns of a row share their value, as they would
/// under a V of equal columns: the worst that the statistic allows for.
ErrorStats stats_of(std::int64_t rows, Format format, const Rounding& rounding, double probable = 0x1p-30,
                    double drift = 0) {
  Scene s = make_scene(rows, 4, format);
  Random random(99, 5);
  for (std::int64_t r = 0; r < rows; ++r) {
    const double exact = random.uniform(1, 2);
    const double computed = rounding(format, exact, random);
    for (std::int64_t c = 0; c < 4; ++c) {
      s.set_true_o(r, c, {exact, 0, 0});
      s.set_o(r, c, computed);
      ElementBound& bound = s.bound_o(r, c);
      bound = {.weights = 0x1p-6};
      bound.probable = probable;
      bound.drift = drift;
      bound.size = exact;
    }
  }
  return judge(s.output, s.truth, s.bound, {}, 0).o;
}

TEST(Bias, a_planted_bias_shows_and_chance_does_not) {
  for (const Format format : {Format::bf16, Format::f16, Format::f32}) {
    const ErrorStats planted = stats_of(400, format, rounded_down);
    const double name = planted.bias();
    EXPECT_TRUE(planted.biased()) << info(format).name << " " << name << " " << planted.bias_limit();
    EXPECT_LT(name, -0.5);
    EXPECT_EQ(planted.bias_elements, 1600U);
    EXPECT_EQ(planted.bias_rows, 400U);
    for (const Rounding& fair : {Rounding(rounded_to_nearest), Rounding(rounded_by_chance)}) {
      const ErrorStats control = stats_of(400, format, fair);
      EXPECT_FALSE(control.biased()) << info(format).name << " " << control.bias() << " " << control.bias_limit();
    }
  }
}

TEST(Bias, few_rows_prove_nothing) {
  // 7/√R of half a unit and more: 20 rows may all round down by chance as far as this statistic knows.
  EXPECT_FALSE(stats_of(20, Format::bf16, rounded_down).biased());
}

TEST(Bias, what_the_bound_declares_as_drift_is_allowed) {
  EXPECT_FALSE(stats_of(400, Format::bf16, rounded_down, 0x1p-7, 0x1p-8).biased());
}

TEST(Bias, without_a_probable_bound_only_the_deterministic_one_limits_it) {
  const ErrorStats stats = stats_of(400, Format::bf16, rounded_down, 0);
  EXPECT_FALSE(stats.biased());
  EXPECT_GT(stats.bias_limit(), 2);  // 2^-6 of bound in units of 2^-8 and more
}

TEST(Bias, the_limit_is_the_mean_drift_and_the_rows_in_quadrature) {
  // Two rows of one element each: spreads 3 and 4, drifts 1 and 2.
  ErrorStats stats;
  const auto add_row = [&](double drift, double spread) {
    ElementBound bound{.weights = 1};
    bound.size = 0x1p24;  // unit 1 in f32
    bound.drift = drift;
    bound.probable = drift + spread;
    bound.weights = 1000;
    const RowDomain domain;
    const Element element{Part::o, 0, 0, Format::f32, 0, 0, {0, 0, 0}, bound, 1e9, domain};
    const double counted = stats.add(element, Decision{}, 0, 0);
    EXPECT_NEAR(counted, spread, 1e-4);  // and the rounding into f32, u·probable
    stats.end_row(counted);
  };
  add_row(1, 3);
  add_row(2, 4);
  EXPECT_NEAR(stats.bias_limit(), (3 + kLambda * 5) / 2, 1e-3);
}

TEST(Bias, rows_merge_in_any_order_to_the_same_bits) {
  const ErrorStats a = stats_of(3, Format::bf16, rounded_down), b = stats_of(5, Format::f16, rounded_by_chance);
  ErrorStats ab = a, ba = b;
  ab.merge(b);
  ba.merge(a);
  EXPECT_EQ(ab.serialize(), ba.serialize());
  EXPECT_EQ(ab.bias_rows, 8U);
  EXPECT_EQ(ErrorStats::deserialize(ab.serialize()).serialize(), ab.serialize());
}

TEST(Bias, elements_that_failed_or_are_vacuous_do_not_count) {
  Scene s = make_scene(2, 4);
  s.set_o(0, 0, 100);
  s.bound.range[5] = 0;
  const ErrorStats stats = judge(s.output, s.truth, s.bound, {}, 0).o;
  EXPECT_EQ(stats.bias_elements, 6U);
  EXPECT_EQ(stats.bias_rows, 2U);
}

}  // namespace
}  // namespace flashproof
