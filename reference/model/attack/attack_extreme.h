// Test support: problems and declarations whose magnitudes are drawn over the whole range that is legal for each, jointly.
#pragma once

#include <cstdint>

#include "reference/bound/declare/arithmetic.h"
#include "reference/problem/problems.h"
#include "reference/problem/random.h"

namespace flashproof::attack {

/// A problem and the declaration that is to run it.
struct ExtremeCase {
  Problem problem;
  Arithmetic arithmetic;
};

/// A pure function of (kind, seed). Every scale, storage format, descale factor, softcap, bias, slope and sink has an
/// exponent of its own, over all of its format or at one of its ends. In most cases one factor is then chosen so that
/// scores, or what their differences are multiplied by, come near an order where softmax does something: exponents drawn
/// apart would make nearly every row one-hot, uniform or infinite. The declaration is one of declaration()'s, with
/// underflow, matrix units, P's format and scale and lazy frames over all that is legal.
ExtremeCase extreme(ProblemKind kind, std::uint64_t seed);
/// Moves a case to an edge that chance hardly meets (attack_edges.cc); of a softmax nothing.
void to_an_edge(Random& random, ExtremeCase& made);

}  // namespace flashproof::attack
