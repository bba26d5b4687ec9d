#include "reference/oracle/gpu/production_problem.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "reference/problem/error.h"
#include "reference/problem/random.h"

namespace flashproof {
namespace {

constexpr std::int64_t kBlock = 1 << 16;  // elements per task
constexpr std::int64_t kLongest = 1 << 20;
constexpr std::int64_t kLargestTensor = std::int64_t{1} << 31;  // elements

/// Sum of eight uniforms of 16 bits (Irwin-Hall), scaled to variance 1; within ±4.9. One block of Philox.
double normal(std::uint64_t seed, std::uint32_t tensor, std::uint64_t n) {
  const auto words =
      philox4x32_10({static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(n >> 32), tensor, 0x63657274},
                    {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  std::uint32_t sum = 0;
  for (const std::uint32_t word : words) sum += (word >> 16) + (word & 0xffff);
  constexpr double kMean = 4 * 65535.0, kDeviation = 53510.0;  // 65536·sqrt(8/12)
  return (sum - kMean) / kDeviation;
}

Tensor normal_tensor(const ProductionShape& shape, std::int64_t heads, std::uint32_t which, const Threads& threads) {
  Tensor tensor = Tensor::dense(shape.format, {1, heads, shape.length, shape.depth});
  const std::int64_t elements = tensor.elements();
  threads.for_each((elements + kBlock - 1) / kBlock, [&](std::int64_t block) {
    for (std::int64_t n = block * kBlock; n < std::min(elements, (block + 1) * kBlock); ++n) {
      tensor.set_bits(n, encode(shape.format, normal(shape.seed, which, static_cast<std::uint64_t>(n))));
    }
  });
  return tensor;
}

void require(bool fits, const std::string& text) {
  if (!fits) throw UsageError(text);
}

}  // namespace

AttentionProblem production_problem(const ProductionShape& shape, const Threads& threads) {
  const auto says = [](std::int64_t n) { return " " + std::to_string(n); };
  require(shape.heads >= 1 && shape.heads <= 65535, "--heads" + says(shape.heads) + ": must be 1..65535");
  require(shape.kv_heads >= 1 && shape.kv_heads <= shape.heads && shape.heads % shape.kv_heads == 0,
          "--kv-heads" + says(shape.kv_heads) + ": must divide --heads" + says(shape.heads));
  require(shape.length >= 1 && shape.length <= kLongest,
          "--length" + says(shape.length) + ": must be 1.." + std::to_string(kLongest));
  require(shape.depth >= 1 && shape.depth <= 128, "--dim" + says(shape.depth) + ": must be 1..128");
  require(shape.format == Format::f32 || shape.format == Format::f16 || shape.format == Format::bf16,
          "--format: must be f32, f16 or bf16");
  require(shape.heads * shape.length * shape.depth <= kLargestTensor,
          "--heads x --length x --dim = " + std::to_string(shape.heads * shape.length * shape.depth) +
              ": must be at most " + std::to_string(kLargestTensor));
  AttentionProblem problem;
  problem.q = normal_tensor(shape, shape.heads, 0, threads);
  problem.k = normal_tensor(shape, shape.kv_heads, 1, threads);
  problem.v = normal_tensor(shape, shape.kv_heads, 2, threads);
  problem.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(shape.depth)));
  problem.causal = shape.causal;
  problem.plan = ChunkPlan::uniform(shape.length, 128);
  return problem;
}

}  // namespace flashproof
