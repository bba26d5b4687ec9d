// The CUDA half of run(): one implementation with the driver (run_cuda.cu), one without (run_no_cuda.cc).
#pragma once

#include <string>

#include "kernels/run.h"

namespace flashproof {

/// As many bytes as the kernel asks for, every one 0xff.
Tensor workspace(const Kernel& kernel, const Problem& problem);

/// As run(): the problem is valid and supported; o and lse come in allocated and poisoned.
void run_on_cuda(const Kernel& kernel, const Problem& problem, Output& output);

}  // namespace flashproof
