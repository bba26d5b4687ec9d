# One line per file; the macro is in kernels/CMakeLists.txt.
flashproof_kernel(merge/pairwise_naive)
flashproof_kernel(merge/pairwise_stable)
flashproof_kernel(merge/pairwise_tree)
flashproof_kernel(merge/ring_update)
flashproof_kernel(merge/nway)
flashproof_kernel(merge/division_free)
flashproof_kernel(merge/states)
flashproof_kernel(merge/states_tree)
