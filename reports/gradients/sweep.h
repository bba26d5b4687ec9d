// Runs a gradient plan on worker processes, as reports/sweep.h. Workers use the GPU themselves, so there is one of them
// where the GPU is among the executors.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "reports/gradients/result.h"
#include "reports/run/sweep.h"
#include "reports/workers/workers.h"

namespace flashproof {

struct GradientStepResult {
  GradientStep step;
  GradientResult result;
};

struct GradientSweep {
  std::vector<GradientRecord> records;      // key order
  std::vector<GradientStepResult> results;  // by case, then kernel, if kept
  double seconds = 0;                       // as the clock on the wall
  bool partial = false;                     // as in SweepResult
  std::string failure;

  std::uint64_t executed() const;
};

/// Of `options`, gpu is not used.
GradientSweep sweep(const GradientPlan& plan, const SweepOptions& options);

/// The pool that a gradient plan runs on: one process where it uses the GPU.
PoolOptions gradient_pool(const GradientPlan& plan, int jobs);

}  // namespace flashproof
