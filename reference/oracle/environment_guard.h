// The oracle's radii are proved for IEEE 754 doubles, rounded to nearest, with subnormals. Both ways of losing that are
// refused: at compile time (fast math reassociates and assumes no NaN) and at run time (MXCSR left in another state by
// other code in the process; with DAZ a subnormal f32 would read as 0 here and in every check of us alike).
#pragma once

#ifdef __FAST_MATH__
#error "the oracle must not be built with -ffast-math: its error bounds assume IEEE 754 arithmetic"
#endif

namespace flashproof {

/// Throws InfrastructureError unless this thread rounds to nearest and keeps subnormals (no FTZ, no DAZ).
void require_ieee_environment();

}  // namespace flashproof
