# One line per file; the macro is in kernels/CMakeLists.txt.
flashproof_kernel(attention_backward/two_kernels)
flashproof_kernel(attention_backward/atomic_dq UNORDERED_ATOMICS)
flashproof_kernel(attention_backward/fused)
