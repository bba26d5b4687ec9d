// The twin check of gradients: every deterministic det kernel on both executors, bit for bit.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "reports/gradients/sweep.h"
#include "reports/run/twin_compare.h"

namespace flashproof {

using TwinKey = std::pair<std::string_view, Format>;

struct GradientTwin {
  std::map<TwinKey, TwinRow> rows;
  PoolOutcome outcome;
};

/// Runs in one process of its own that owns the GPU. `plan` has executors {cuda}. A kernel whose contract leaves its order
/// open (atomics) is left out: its bits say nothing.
GradientTwin gradient_twin(GradientPlan plan,
                           const std::function<void(std::uint64_t done, std::uint64_t total)>& progress);

}  // namespace flashproof
