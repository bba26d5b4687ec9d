// The laws of the gradient. gradients.cc puts them in order.
#pragma once

#include "properties/laws/gradients.h"

namespace flashproof {

// Judging laws (judging_gradients.cc).
GradientLaw gradient_within_bound();
GradientLaw gradient_fully_written();
// Beside the forward law of the same name.
GradientLaw gradient_unused_storage_is_isolated();
GradientLaw gradient_red_zones_untouched();
GradientLaw gradient_layout_invariance();
GradientLaw gradient_rerun_is_bitwise();
GradientLaw gradient_schedule_invariance_is_bitwise();
GradientLaw gradient_no_race();
GradientLaw gradient_offsets_beyond_int32();
// A file each.
GradientLaw gradient_rows_sum_to_zero();
GradientLaw gradient_columns_sum_to_d_out();
GradientLaw gradient_sums_are_additive();
GradientLaw gradient_power_of_two_scaling_is_bitwise();
GradientLaw gradient_mask_forms_agree();
GradientLaw gradient_hidden_nan_is_isolated();
GradientLaw gradient_visible_nan_is_not_laundered();
GradientLaw gradient_batch_invariance_is_bitwise();
GradientLaw gradient_permutation_within_bound();
GradientLaw gradient_gqa_equals_expanded();

}  // namespace flashproof
