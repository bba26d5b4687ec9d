// Cases of the gradient: an attention family's problem, dO from a stream of its own, and o and lse as an ideal forward
// kernel stores them. Beside the keys of attention the recipe may have `mode`, stage or gradient; without it even seeds are
// stages and odd ones gradients. The families `pairs` and `sizes` have rows of their own for it, with its own dimensions.
#pragma once

#include <functional>
#include <optional>

#include "reference/bound/backward/bound.h"
#include "reference/problem/backward.h"
#include "reference/problem/case.h"
#include "reference/problem/witness/witness.h"

namespace flashproof {

/// `change`: what is done to the forward problem before its ideal outputs are computed. Throws UsageError as make_case()
/// does, and where the family's problem has a feature without a gradient here.
Case make_gradient_case(const CaseSpec& spec, const std::function<void(Problem&)>& change = {});

/// As make_case(), but o and lse of a gradient hold 0: for what asks about sizes, storage and features alone, and is spared their
/// truth. Nothing where the family's problem has a feature without a gradient.
std::optional<Problem> drawn_shape(const CaseSpec& spec);

/// o and lse become those of the exact forward function, as an ideal kernel stores them: o and lse dense, o in the format of
/// q, where they have no shape yet. Throws UsageError for a forward problem that is none.
void store_ideal_forward(BackwardProblem& problem);

/// How far the stored lse and o are from the exact ones: what backward_bound() wants. Empty for a stage.
ForwardErrors forward_errors(const BackwardProblem& problem);

}  // namespace flashproof
