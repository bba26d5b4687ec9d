# One line per file; the macro is in kernels/CMakeLists.txt.
flashproof_kernel(softmax/online_block)
flashproof_kernel(softmax/online_two_pass)
