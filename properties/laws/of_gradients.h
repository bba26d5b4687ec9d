// What a law says of gradients at length.
#pragma once

#include "properties/laws/law.h"

namespace flashproof {

// In NAME_backward.cc, for the law NAME.
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
