// The certified oracle. This tier: Boost.Multiprecision intervals over MPFI, exact inputs, precision doubled from 128
// bits until every radius is at most 2^-12 ulp of f32 at the value or 2^-60 of it; at most kMaxBits.
#pragma once

#include "reference/oracle/truth.h"
#include "reference/problem/problems.h"

namespace flashproof {

inline constexpr int kMaxBits = 4096;

/// Throws UsageError if the problem is not valid.
Truth compute_truth(const Problem& problem);

}  // namespace flashproof
