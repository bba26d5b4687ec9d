// The CUDA half of run(): one implementation with the driver (run_cuda.cu), one without (run_no_cuda.cc).
#pragma once

#include <string>

#include "kernels/run/run.h"

namespace flashproof {

/// As run(): the problem is valid and supported; its outputs come in allocated and poisoned, and so does the workspace.
void run_on_cuda(const Kernel& kernel, const Problem& problem, const Tensor& workspace, Output& output);

}  // namespace flashproof
