// Sums of atom.add and red.add of floats (PTX ISA 9.7.13: atom).
#pragma once

#include <cstdint>

#include "kernels/ptx/translate/context.h"

namespace flashproof::ptx {

/// Rounded once, to nearest; every NaN is one, but of f64. In global memory f32 subnormals are zeros, operands and result alike.
std::uint64_t atomic_sum(const Site& site, bool is_global, std::uint64_t old, std::uint64_t operand);

}  // namespace flashproof::ptx
