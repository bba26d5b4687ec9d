#include "reference/oracle/exact/interval_edges.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/oracle/environment_guard.h"

namespace flashproof {

void set_interval(mpfi_ptr target, mpz_srcptr integer, long exponent) {
  mpfr_set_z_2exp(&target->left, integer, exponent, MPFR_RNDD);
  mpfr_set_z_2exp(&target->right, integer, exponent, MPFR_RNDU);
}

void set_interval(mpfi_ptr target, const ExactScore& score, int unit) {
  const auto limbs = score.magnitude();
  mpz_t integer;
  mpz_init(integer);
  mpz_import(integer, limbs.size(), -1, sizeof(limbs[0]), 0, 32, limbs.data());  // 32 of the 64 bits are nails
  if (score.negative()) mpz_neg(integer, integer);
  set_interval(target, integer, ExactScore::kLowestExponent + unit);
  mpz_clear(integer);
}

void exp_interval(mpfi_ptr target, mpfi_srcptr x) {
  if (mpfr_zero_p(&x->left) && mpfr_zero_p(&x->right)) {
    mpfi_set_ui(target, 1);
  } else if (mpfr_equal_p(&x->left, &x->right)) {
    // e^x of a rational x != 0 is irrational, so the two directed roundings are neighbours: one evaluation, not two.
    // An underflow gives [0, smallest positive MPFR number], which encloses too.
    mpfr_exp(&target->left, &x->left, MPFR_RNDD);
    mpfr_set(&target->right, &target->left, MPFR_RNDU);
    mpfr_nextabove(&target->right);
  } else {
    mpfi_exp(target, x);
  }
}

void outer_integers(mpz_ptr low, mpz_ptr high, mpfi_srcptr x, long shift) {
  mpfr_t scaled;
  mpfr_init2(scaled, std::max(mpfr_get_prec(&x->left), mpfr_get_prec(&x->right)));
  mpfr_mul_2si(scaled, &x->left, shift, MPFR_RNDD);  // exact, apart from MPFR's own underflow
  mpfr_get_z(low, scaled, MPFR_RNDD);
  mpfr_mul_2si(scaled, &x->right, shift, MPFR_RNDU);
  mpfr_get_z(high, scaled, MPFR_RNDU);
  mpfr_clear(scaled);
}

Ball to_ball(mpfi_srcptr x) {
  if (!mpfi_bounded_p(x)) return {.radius = std::numeric_limits<double>::infinity()};
  mpfr_t rest;
  mpfr_init2(rest, mpfr_get_prec(&x->left) + 1);  // one more bit: the sum of two ends of one size is exact more often
  Ball ball;
  mpfr_add(rest, &x->left, &x->right, MPFR_RNDN);
  mpfr_div_2ui(rest, rest, 1, MPFR_RNDN);
  ball.hi = mpfr_get_d(rest, MPFR_RNDN);
  mpfr_sub_d(rest, rest, ball.hi, MPFR_RNDN);
  ball.lo = mpfr_get_d(rest, MPFR_RNDN);

  // However hi and lo came about, the radius is the larger distance to an end, every step rounded up.
  mpfr_sub_d(rest, &x->right, ball.hi, MPFR_RNDU);
  mpfr_sub_d(rest, rest, ball.lo, MPFR_RNDU);
  const double above = mpfr_get_d(rest, MPFR_RNDU);
  mpfr_d_sub(rest, ball.hi, &x->left, MPFR_RNDU);
  mpfr_add_d(rest, rest, ball.lo, MPFR_RNDU);
  const double below = mpfr_get_d(rest, MPFR_RNDU);
  // Of equals std::max takes the first: 0.0, not a distance of -0.0. MPFI keeps an exact 0 as [+0, -0], and -0 - 0 = -0.
  ball.radius = std::max({0.0, above, below});
  mpfr_clear(rest);
  return ball;
}

}  // namespace flashproof
