# One line per file; the macro is in kernels/CMakeLists.txt.
flashproof_kernel(merge/pairwise)
