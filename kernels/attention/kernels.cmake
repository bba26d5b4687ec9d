# One line per file; the macro is in kernels/CMakeLists.txt.
flashproof_kernel(attention/online_chunk)
flashproof_kernel(attention/deferred)
