// The extents that a softmax of several launches measures its workspace by.
#pragma once

#include <cstdint>

#include "kernels/args.h"
#include "kernels/run/workspace.h"
#include "kernels/simt/simt.h"
#include "reference/problem/problems.h"

namespace flashproof::FP_EXECUTOR {

/// Extents of a softmax, from a problem or from the arguments of a launch: both must ask for the same workspace.
struct SoftmaxExtents {
  std::int64_t rows, cols, chunks;

  static SoftmaxExtents of(const Problem& problem) {
    const auto& p = std::get<SoftmaxProblem>(problem);
    return {p.x.shape[0], p.x.shape[1], p.plan.chunks()};
  }
  static SoftmaxExtents of(const SoftmaxArgs& a) { return {a.rows, a.cols, a.chunks}; }
  std::int64_t elements() const { return rows * cols; }
  std::int64_t states() const { return rows * chunks; }
};

}  // namespace flashproof::FP_EXECUTOR
