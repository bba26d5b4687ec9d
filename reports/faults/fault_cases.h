// The cases on which the kill table asks every law about a fault.
#pragma once

#include <deque>

#include "properties/laws/teeth_cases.h"

namespace flashproof {

/// Of a forward problem teeth_cases(). Of the gradient every variant (gradient_variant.h) of an ordinary problem, then every family
/// that has a gradient, six seeds in formats in turn; with their truths, so that processes that are forked later share them.
std::deque<TeethCase>& fault_cases(ProblemKind problem);

}  // namespace flashproof
