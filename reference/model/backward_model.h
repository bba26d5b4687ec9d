// The declaration of a backward kernel, executed: every operation, format and order of
// reference/bound/backward/arithmetic.h, on the host.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/bound/backward/arithmetic.h"
#include "reference/model/roundings.h"
#include "reference/problem/problems.h"

namespace flashproof {

/// Lean::aligned and opposed push P_ij by the sign of what it does to column `column` of this output.
enum class BackwardTarget : std::uint8_t { dq, dk, dv };
struct BackwardRoundings {
  Lean lean = Lean::nearest;
  std::uint64_t seed = 0;
  BackwardTarget target = BackwardTarget::dq;
  std::int64_t column = 0;
  bool shuffled = false;  // sums of blocks and of heads in an order of the seed's, any tree; else from first to last
};

/// dq, dk and dv before the last rounding into the storage format: what the bounds are about. Row-major and dense.
struct UnroundedGradients {
  std::vector<double> dq, dk, dv;
};

/// Reads the stored o and lse in both modes, as a kernel does. Hidden keys are isolated; other special values take
/// their natural way. `problem` must be valid and `arithmetic` one that backward_bound() takes.
UnroundedGradients run_backward_model(const BackwardProblem& problem, const BackwardArithmetic& arithmetic,
                                      const BackwardRoundings& roundings = {});

/// Rounded into the format of q.
Output store_gradients(const BackwardProblem& problem, const UnroundedGradients& gradients);

}  // namespace flashproof
