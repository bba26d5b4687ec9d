// The laws, one per file. laws.cc puts them in order. What a law says of gradients is in a file of its own, X_backward.cc, where
// that is long.
#pragma once

#include "properties/laws/law.h"

namespace flashproof {

// Judging laws.
Law within_bound();
Law class_matches_semantics();
Law outputs_fully_written();
// Relating laws.
Law empty_state_is_identity();
Law merge_commutes();
Law merge_any_order_within_bound();
Law merge_any_tree_within_bound();
Law split_equals_unsplit();
Law same_kv_twice_adds_ln2();
Law shift_invariance();
Law power_of_two_scaling_is_bitwise();
Law ones_in_ones_out();
Law convex_hull();
Law mask_forms_agree();
Law unused_storage_is_isolated();
Law hidden_nan_is_isolated();
Law visible_nan_is_not_laundered();
Law red_zones_untouched();
Law layout_invariance();
Law batch_invariance_is_bitwise();
Law rerun_is_bitwise();
Law schedule_invariance_is_bitwise();
Law no_race();
Law dim_permutation_within_a_k_group_is_bitwise();
Law key_permutation_within_bound();
Law gqa_equals_expanded();
Law paged_equals_contiguous();
Law one_hot_v_returns_p();
Law signed_bias_within_limit();
Law dropped_key_is_noticed();
Law lse_consistent_with_o();
Law offsets_beyond_int32();
// Of gradients alone.
Law dq_is_zero_for_equal_keys();
Law dv_sums_to_d_out();
Law gradients_are_additive();

/// Of those.
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
