// Test support: problems that make one part of a bound large, and declarations drawn at random.
#pragma once

#include "reference/bound/declare/arithmetic.h"
#include "reference/problem/problems.h"
#include "reference/problem/random.h"

namespace flashproof::attack {

/// Scores of a few units, values near 1, nothing near the end of a range. e4m3fn: its numbers, held in f16.
Problem mild(Random& random, ProblemKind kind, Format inputs);

/// What may go wrong, one way at a time or mixed: spread exponents, slow ramps, staircases, a large common offset,
/// one-signed and two-hot values, weights at the edge of underflow beside huge values, subnormal numbers.
Problem hostile(Random& random, ProblemKind kind, Format inputs);

/// Raw scores under a scale, times descale factors, of 0 or below: no declaration of them has a bound.
bool refused(const Problem& problem, const Arithmetic& arithmetic);

/// Any declaration that runs this problem. Errors of functions are 2^-23 or, one time in three, up to 2^-4: there a wrong
/// term shows at once.
Arithmetic declaration(Random& random, const Problem& problem);

}  // namespace flashproof::attack
