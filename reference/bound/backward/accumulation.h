// Sums of products in declared arithmetic: how much their roundings may cost (README.md, section 2).
#pragma once

#include <cstdint>

#include "reference/bound/backward/arithmetic.h"

namespace flashproof::bound {

/// |computed − exact| <= growth(log_units)·Σ|a b| + operations·underflow, for factors as they are stored; of a matrix
/// unit Σ aligned(a) aligned(b) in place of Σ|a b|.
struct SumCost {
  double log_units = 0;
  double operations = 0;  // that may lose an absolute amount each, which later roundings may let grow
};

/// A matrix unit takes the exponent of a subnormal factor to be the least of its format: x >= 0 raised to the least
/// normal number, unless it is so small that it is stored as 0.
double aligned(double x, Format format);

/// What a result in the subnormal range loses: half the least subnormal; 2^-126 where it is flushed. A matrix unit cuts
/// instead of rounding: the least subnormal, or of a shorter result 2^(-126 - ofb), and what its alignment drops at the lowest
/// exponent.
double lost_per_operation(const Products& products, Underflow underflow);

/// n positions of which at most `terms` hold a product that is not 0: the others change nothing.
SumCost cost_of(const Products& products, std::int64_t n, std::int64_t terms);
/// One head's sum, or that of all heads in line: blocks and their addition. Without the steps that heads_apart adds.
SumCost cost_of(const Accumulation& accumulation, std::int64_t n, std::int64_t terms);

/// Log units of one rounding into the format; 0 of f32, where nothing is rounded.
double storage_units(Format format);
/// Largest absolute error where the stored result is subnormal; 0 of f32.
double storage_underflow(Format format, Underflow underflow);

/// Throws std::invalid_argument naming what no section covers.
void require_covered(const Products& products, const char* name);

}  // namespace flashproof::bound
