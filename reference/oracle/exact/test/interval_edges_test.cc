#include "reference/oracle/exact/interval_edges.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reference/problem/random.h"

namespace flashproof {
namespace {

/// An interval of the given precision; raw MPFI, as the code under test.
class TestInterval {
 public:
  explicit TestInterval(int bits = 128) { mpfi_init2(x_, bits); }
  ~TestInterval() { mpfi_clear(x_); }
  TestInterval(const TestInterval&) = delete;
  TestInterval& operator=(const TestInterval&) = delete;
  mpfi_ptr get() { return x_; }
  mpfr_ptr left() { return &x_->left; }
  mpfr_ptr right() { return &x_->right; }

 private:
  mpfi_t x_;
};

/// Both ends lie in the ball, decided at 4,000 bits, where every sum of doubles here is exact.
bool ball_contains(const Ball& ball, TestInterval& x) {
  mpfr_t sum, end;
  mpfr_inits2(4000, sum, end, nullptr);
  bool inside = true;
  for (const int side : {0, 1}) {
    mpfr_set_d(sum, ball.hi, MPFR_RNDN);
    mpfr_add_d(sum, sum, ball.lo, MPFR_RNDN);
    mpfr_set(end, side == 0 ? x.left() : x.right(), MPFR_RNDN);
    mpfr_sub(sum, sum, end, MPFR_RNDN);
    mpfr_abs(sum, sum, MPFR_RNDN);
    inside = inside && mpfr_cmp_d(sum, ball.radius) <= 0;
  }
  mpfr_clears(sum, end, nullptr);
  return inside;
}

TEST(ToBall, ContainsBothEndsAtEverySize) {
  Random random(3, 1);
  gmp_randstate_t state;
  gmp_randinit_default(state);
  gmp_randseed_ui(state, 5);
  for (int round = 0; round < 20000; ++round) {
    TestInterval x(static_cast<int>(random.integer(64, 300)));
    mpfr_urandomb(x.left(), state);
    mpfr_sub_d(x.left(), x.left(), 0.5, MPFR_RNDN);
    mpfr_mul_2si(x.left(), x.left(), random.integer(-1200, 400), MPFR_RNDN);
    mpfr_set(x.right(), x.left(), MPFR_RNDN);
    for (std::int64_t n = random.integer(0, 3); n > 0; --n) mpfr_nextabove(x.right());
    const Ball ball = to_ball(x.get());
    ASSERT_TRUE(ball_contains(ball, x)) << round;
    if (ball.radius > 0.0) {
      ASSERT_LE(std::fabs(ball.lo), 0.5 * (std::nextafter(std::fabs(ball.hi), INFINITY) - std::fabs(ball.hi)));
    }
  }
  gmp_randclear(state);
}

TEST(ToBall, TheContainmentCheckNoticesAShrunkenRadius) {
  TestInterval x;
  mpfi_set_ui(x.get(), 1);
  mpfi_div_ui(x.get(), x.get(), 3);
  Ball ball = to_ball(x.get());
  EXPECT_TRUE(ball_contains(ball, x));
  ball.radius *= 0.5;
  EXPECT_FALSE(ball_contains(ball, x));
}

TEST(ToBall, UnderflowStaysCovered) {
  TestInterval x;
  mpfi_set_ui(x.get(), 1);
  mpfi_div_2ui(x.get(), x.get(), 3000);
  const Ball ball = to_ball(x.get());
  EXPECT_EQ(ball.hi, 0.0);
  EXPECT_EQ(ball.radius, 0x1p-1074);
}

TEST(ToBall, AnExactZeroHasARadiusWithoutASign) {
  for (const int bits : {64, 128, 1000}) {
    TestInterval x(bits);
    mpfi_set_ui(x.get(), 0);
    EXPECT_TRUE(mpfr_signbit(x.right())) << "MPFI's zero is [+0, -0]";
    const auto is_zero = [&] {
      const Ball ball = to_ball(x.get());
      EXPECT_EQ(ball.hi, 0.0);
      EXPECT_EQ(ball.radius, 0.0);
      EXPECT_FALSE(std::signbit(ball.radius));
    };
    is_zero();
    mpfi_set_d(x.get(), -1.5);
    mpfi_add_d(x.get(), x.get(), 1.5);
    is_zero();
    for (const double left : {0.0, -0.0}) {
      for (const double right : {0.0, -0.0}) {
        mpfr_set_d(x.left(), left, MPFR_RNDN);
        mpfr_set_d(x.right(), right, MPFR_RNDN);
        is_zero();
      }
    }
  }
}

TEST(ExpInterval, EnclosesAndIsTight) {
  Random random(4, 1);
  TestInterval x, y, fine(600);
  for (int round = 0; round < 2000; ++round) {
    mpfi_set_d(x.get(), -std::ldexp(1.0 + random.uniform(), static_cast<int>(random.integer(-140, 10))));
    exp_interval(y.get(), x.get());
    mpfi_exp(fine.get(), x.get());
    ASSERT_TRUE(mpfi_is_inside(fine.get(), y.get())) << round;
    mpfr_nextabove(y.left());
    ASSERT_TRUE(mpfr_equal_p(y.left(), y.right())) << "wider than one unit";
  }
}

TEST(ExpInterval, EndsOfTheRange) {
  TestInterval x, y;
  mpfi_set_ui(x.get(), 0);
  exp_interval(y.get(), x.get());
  EXPECT_TRUE(mpfr_cmp_ui(y.left(), 1) == 0 && mpfr_cmp_ui(y.right(), 1) == 0);
  mpfi_set_d(x.get(), -1e70);  // below MPFR's exponent range
  exp_interval(y.get(), x.get());
  EXPECT_TRUE(mpfr_zero_p(y.left()));
  EXPECT_GT(mpfr_sgn(y.right()), 0);
  mpfi_interv_d(x.get(), -1.0, -0.5);
  exp_interval(y.get(), x.get());
  EXPECT_LT(mpfr_cmp_d(y.left(), std::exp(-1.0) * (1 + 1e-15)), 0);
  EXPECT_GT(mpfr_cmp_d(y.right(), std::exp(-0.5) * (1 - 1e-15)), 0);
}

TEST(OuterIntegers, RoundOutward) {
  TestInterval x;
  mpz_t low, high;
  mpz_inits(low, high, nullptr);
  mpfi_interv_d(x.get(), 0.3, 0.8);
  outer_integers(low, high, x.get(), 2);  // [1.2, 3.2]
  EXPECT_EQ(mpz_get_si(low), 1);
  EXPECT_EQ(mpz_get_si(high), 4);
  mpfi_interv_d(x.get(), 0.0, 0x1p-1000);
  outer_integers(low, high, x.get(), 128);
  EXPECT_EQ(mpz_get_si(low), 0);
  EXPECT_EQ(mpz_get_si(high), 1);
  mpz_clears(low, high, nullptr);
}

TEST(SetInterval, ExactScoreIsInsideAndTight) {
  ExactScore score = exact_score(1e38);
  score = exact_score(-0x1p-149) - score;  // 276 bits: does not fit 128
  TestInterval narrow, wide(900);
  set_interval(narrow.get(), score);
  set_interval(wide.get(), score);
  EXPECT_TRUE(mpfr_equal_p(wide.left(), wide.right()));
  EXPECT_TRUE(mpfi_is_inside(wide.get(), narrow.get()));
  EXPECT_FALSE(mpfr_equal_p(narrow.left(), narrow.right()));
  mpfr_nextabove(narrow.left());
  EXPECT_TRUE(mpfr_equal_p(narrow.left(), narrow.right()));
}

TEST(ToBall, WithoutFiniteEndsThereIsNoRadius) {
  TestInterval x;
  mpfi_interv_d(x.get(), 1.0, INFINITY);
  EXPECT_EQ(to_ball(x.get()).radius, INFINITY);
  mpfi_interv_d(x.get(), -INFINITY, 2.0);
  EXPECT_EQ(to_ball(x.get()).radius, INFINITY);
  mpfr_set_nan(x.left());
  EXPECT_EQ(to_ball(x.get()).radius, INFINITY);
}

}  // namespace
}  // namespace flashproof
