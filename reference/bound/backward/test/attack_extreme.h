// Test support: gradients and declarations whose magnitudes and features are drawn over all that is legal, jointly, as
// reference/model/attack/attack_extreme.h draws forward problems.
#pragma once

#include <cstdint>

#include "reference/bound/backward/bound.h"
#include "reference/problem/random.h"

namespace flashproof::test {

struct ExtremeBackward {
  BackwardProblem problem;
  ForwardErrors forward;  // what o and lse of the problem really err by, next to nothing more
};

/// A pure function of the seed. Formats, widths, heads, groups, masks, every scale, operand, bias, slope, dO, o and lse
/// have a draw of their own; softcap, sinks, descale factors, packs and pages are no features of a gradient. In most
/// problems one factor of a score, and one of τ·dP·k, is chosen so that the product comes near an order where something
/// happens.
ExtremeBackward extreme_backward(std::uint64_t seed);

/// Any fields together that README.md covers for this problem.
BackwardArithmetic any_declaration(Random& random, const BackwardProblem& problem);
/// One of what the declaration leaves open to a kernel (heads_any).
BackwardArithmetic any_execution(Random& random, const BackwardArithmetic& declared);

}  // namespace flashproof::test
