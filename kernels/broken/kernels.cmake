# One line per file; the macro is in kernels/CMakeLists.txt.
flashproof_kernel(broken/softmax_no_empty_guard)
flashproof_kernel(broken/softmax_tail_dropped)
flashproof_kernel(broken/merge_misprinted_lse)
flashproof_kernel(broken/attention_accumulator_not_rescaled)
