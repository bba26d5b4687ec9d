// Laws of gradients, and what a law says of gradients at length: in NAME_backward.cc, for NAME.
#pragma once

#include "properties/laws/law.h"

namespace flashproof {

/// What a law of gradients alone has for `kinds`.
inline constexpr ProblemKind kOfGradients[] = {ProblemKind::backward};
/// A relating law that says one thing of forward problems and another of gradients.
template <Verdict (*forward)(Trial&), Verdict (*gradient)(Trial&)>
Verdict by_kind(Trial& trial) {
  return kind_of(trial.problem()) == ProblemKind::backward ? gradient(trial) : forward(trial);
}

// In X_backward.cc, for X.
Verdict empty_state_of_gradients(Trial& trial);
Verdict same_kv_twice_of_gradients(Trial& trial);
Verdict shift_of_gradients(Trial& trial);
Verdict power_of_two_scaling_of_gradients(Trial& trial);
Verdict mask_forms_of_gradients(Trial& trial);
Verdict hidden_nan_of_gradients(Trial& trial);
Verdict visible_nan_of_gradients(Trial& trial);
Verdict batch_invariance_of_gradients(Trial& trial);
Verdict key_permutation_of_gradients(Trial& trial);
Verdict gqa_of_gradients(Trial& trial);

}  // namespace flashproof
