// The laws of the gradient. laws.cc puts them in order.
#pragma once

#include "properties/laws/law.h"

namespace flashproof {

// Judging laws (judging_gradients.cc).
Law gradient_within_bound();
Law gradient_fully_written();
// Beside the forward law of the same name.
Law gradient_unused_storage_is_isolated();
Law gradient_red_zones_untouched();
Law gradient_layout_invariance();
Law gradient_rerun_is_bitwise();
Law gradient_schedule_invariance_is_bitwise();
Law gradient_no_race();
Law gradient_offsets_beyond_int32();
// A file each.
Law gradient_rows_sum_to_zero();
Law gradient_columns_sum_to_d_out();
Law gradient_sums_are_additive();
Law gradient_power_of_two_scaling_is_bitwise();
Law gradient_mask_forms_agree();
Law gradient_hidden_nan_is_isolated();
Law gradient_visible_nan_is_not_laundered();
Law gradient_batch_invariance_is_bitwise();
Law gradient_permutation_within_bound();
Law gradient_gqa_equals_expanded();

}  // namespace flashproof
