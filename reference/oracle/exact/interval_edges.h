// The four steps between exact numbers, intervals and results where the direction of rounding is ours to choose. Raw
// MPFI/MPFR, because the Boost wrapper has no directed conversion (convert_to<double> rounds to nearest, construction
// from an integer rounds both ends through one value) and no cheap exp of a point. All other interval arithmetic of the
// oracle goes through boost::multiprecision::mpfi_float.
#pragma once

#include <gmp.h>
#include <mpfi.h>
#include <mpfr.h>

#include "reference/oracle/exact/exact_score.h"
#include "reference/oracle/truth.h"

namespace flashproof {

/// Smallest interval of the target's precision that contains score·2^unit.
void set_interval(mpfi_ptr target, const ExactScore& score, int unit = 0);
/// Smallest interval of the target's precision that contains integer·2^exponent.
void set_interval(mpfi_ptr target, mpz_srcptr integer, long exponent);
/// e^x.
void exp_interval(mpfi_ptr target, mpfi_srcptr x);
/// low <= lower end · 2^shift and upper end · 2^shift <= high, both as tight as integers can be. x has finite ends.
void outer_integers(mpz_ptr low, mpz_ptr high, mpfi_srcptr x, long shift);
/// The interval as centre and radius; radius +inf unless both ends are finite.
Ball to_ball(mpfi_srcptr x);

}  // namespace flashproof
