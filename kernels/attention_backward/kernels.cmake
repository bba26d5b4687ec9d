# One line per file; the macro is in kernels/CMakeLists.txt.
flashproof_backward_kernel(attention_backward/two_kernels)
flashproof_backward_kernel(attention_backward/atomic_dq UNORDERED_ATOMICS)
flashproof_backward_kernel(attention_backward/fused)
