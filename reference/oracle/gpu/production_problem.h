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

/// Throws UsageError naming the option of `certify` that does not fit.
void check(const ProductionShape& shape);
/// Everything but the elements: the tensors have no storage. The shape has been checked.
AttentionProblem production_outline(const ProductionShape& shape);
/// Throws as check() does.
AttentionProblem production_problem(const ProductionShape& shape, const Threads& threads);

}  // namespace flashproof
