// The CUDA half of run() for gradients: one implementation with the driver (backward_cuda.cu), one without.
#pragma once

#include "kernels/backward.h"

namespace flashproof {

/// As run(): the problem is valid and supported; the gradients come in allocated and poisoned, and so does the workspace.
void run_on_cuda(const BackwardKernel& kernel, const BackwardProblem& problem, const Tensor& workspace,
                 Gradients& gradients);

}  // namespace flashproof
