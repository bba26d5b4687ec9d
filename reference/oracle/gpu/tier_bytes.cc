#include "reference/oracle/gpu/gpu_tier.h"
#include "reference/oracle/gpu/layout.h"

namespace flashproof {
namespace {

double padded(std::int64_t n, int size) {
  const std::int64_t pieces = (n + size - 1) / size;
  return static_cast<double>(pieces * size);
}

}  // namespace

double gpu_tier_bytes(const AttentionProblem& problem) {
  using namespace gpu;
  const auto heads = static_cast<double>(problem.batch() * problem.q_heads());
  const auto kv_heads = static_cast<double>(problem.batch() * problem.k_heads());
  const double rows = heads * padded(problem.q_length(), kRows), keys = kv_heads * padded(problem.k_length(), kKeys);
  double raw = 0;
  for (const Tensor* tensor : {&problem.q, &problem.k, &problem.v}) {
    raw += static_cast<double>(storage_bytes(tensor->format, tensor->shape, tensor->stride));
  }
  // Of a row: q, o and the radii as doubles, W |V| as floats; its terms, state, lse and range of keys. Of a key: k, v.
  return raw + rows * (kDepth * 28.0 + 128) + keys * (2 * kDepth * 8.0 + 2) + kv_heads * 2048;
}

}  // namespace flashproof
