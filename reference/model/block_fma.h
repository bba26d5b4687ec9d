// One step of a matrix unit, bit for bit: D = T(c + Σ_{k<n} a_k b_k).
//
//   products     exact, not normalised: significand in [1, 4) at the sum of the factors' exponents. A subnormal factor
//                has the least exponent of its format and a significand below 1
//   alignment    every addend, c too, is cut toward zero at 2^(e − F), e the largest exponent among those that are not
//                zero, at least −133
//   sum          exact, hence in any order
//   result       normalised once, cut toward zero to `ofb` fraction bits (of a subnormal: from exponent −126); 2^128 and
//                above is inf. Infinities and NaN as in exact arithmetic; a NaN is 0x7fffffff
//
// Sources: MMA-Sim (arXiv 2511.10909, its simulator of Nvidia's units); Khattak & Mikaitis (arXiv 2512.07004); Fasi,
// Higham, Mikaitis & Pranesh 2021. Nothing but integers here, so that a CPU executor may use it for mma.
#pragma once

#include "reference/bound/declare/arithmetic.h"
#include "reference/problem/formats.h"

namespace flashproof {

/// The least exponent to which a step aligns.
inline constexpr int kLeastAlignment = -133;

/// What a factor may be: its format, f32 standing for tf32 too (the same exponents).
struct BlockInputs {
  Format a = Format::f16;
  Format b = Format::f16;
};

/// a and b have n <= unit.k <= 64 numbers of their formats; fewer count as zeros. c has at most 23 fraction bits, as every
/// float. unit.f in 1..46, unit.ofb in 1..23.
float block_fma(const BlockFma& unit, BlockInputs inputs, float c, const float* a, const float* b, int n);

/// The low 13 bits of the pattern cleared: what a tf32 unit reads of an f32 number.
float cut_to_tf32(float x);

}  // namespace flashproof
