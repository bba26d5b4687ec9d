// Normal data of production size: element n of a tensor is a pure function of (seed, tensor, n), so threads may share
// the work.
#pragma once

#include <cstdint>

#include "reference/oracle/threads.h"
#include "reference/problem/problems.h"

namespace flashproof {

struct ProductionShape {
  std::int64_t heads = 8, kv_heads = 8, length = 8192, depth = 128;
  Format format = Format::f16;
  bool causal = false;
  std::uint64_t seed = 0;
};

/// Throws UsageError naming the argument that does not fit.
AttentionProblem production_problem(const ProductionShape& shape, const Threads& threads);

}  // namespace flashproof
