// The four steps between exact numbers, intervals and results where the direction of rounding is ours to choose. Raw
// MPFI/MPFR, because the Boost wrapper has no directed conversion (convert_to<double> rounds to nearest, construction
// from an integer rounds both ends through one value) and no cheap exp of a point. All other interval arithmetic of the
// oracle goes through boost::multiprecision::mpfi_float.
#pragma once

#include <gmp.h>
#include <mpfi.h>
#include <mpfr.h>

#include "reference/oracle/exact_score.h"
#include "reference/oracle/truth.h"

namespace flashproof {

/// Smallest interval of the target's precision that contains the score.
void set_interval(mpfi_ptr target, const ExactScore& score);
/// Smallest interval of the target's precision that contains integer·2^exponent.
void set_interval(mpfi_ptr target, mpz_srcptr integer, long exponent);
/// e^x.
void exp_interval(mpfi_ptr target, mpfi_srcptr x);
/// low <= lower end · 2^shift and upper end · 2^shift <= high, both as tight as integers can be.
void outer_integers(mpz_ptr low, mpz_ptr high, mpfi_srcptr x, long shift);
/// The interval as centre and radius; `decided` is set by narrow_enough. x has finite ends.
Ball to_ball(mpfi_srcptr x);
/// radius <= 2^-12 ulp of f32 at the value, the ulp taken at the end of the ball nearest to 0 and 2^-149 below f32's
/// normal range. (This is the stricter half of "2^-12 ulp or 2^-60 relative": ulp(v) >= 2^-24 |v| always.)
bool narrow_enough(const Ball& ball);

}  // namespace flashproof
