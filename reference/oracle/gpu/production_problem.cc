#include "reference/oracle/gpu/production_problem.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "reference/problem/random.h"
#include "reference/system/error.h"

namespace flashproof {
namespace {

constexpr std::int64_t kBlock = 1 << 16;  // elements per task
constexpr std::int64_t kLongest = 1 << 20;

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

/// Gives the tensor its elements.
void fill(Tensor& tensor, std::uint64_t seed, std::uint32_t which, const Threads& threads) {
  tensor = Tensor::dense(tensor.format, tensor.shape);
  const std::int64_t elements = tensor.elements();
  threads.for_each((elements + kBlock - 1) / kBlock, [&](std::int64_t block) {
    for (std::int64_t n = block * kBlock; n < std::min(elements, (block + 1) * kBlock); ++n) {
      tensor.set_bits(n, encode(tensor.format, normal(seed, which, static_cast<std::uint64_t>(n))));
    }
  });
}

void require(bool fits, const std::string& text) {
  if (!fits) throw UsageError(text);
}

}  // namespace

void check(const ProductionShape& shape) {
  const auto says = [](std::int64_t n) { return " " + std::to_string(n); };
  require(shape.heads >= 1 && shape.heads <= 65535, "--heads" + says(shape.heads) + ": must be 1..65535");
  require(shape.kv_heads >= 1 && shape.kv_heads <= shape.heads && shape.heads % shape.kv_heads == 0,
          "--kv-heads" + says(shape.kv_heads) + ": must divide --heads" + says(shape.heads));
  require(shape.length >= 1 && shape.length <= kLongest,
          "--length" + says(shape.length) + ": must be 1.." + std::to_string(kLongest));
  require(shape.depth >= 1 && shape.depth <= 128, "--dim" + says(shape.depth) + ": must be 1..128");
  require(shape.format == Format::f32 || shape.format == Format::f16 || shape.format == Format::bf16,
          "--format: must be f32, f16 or bf16");
  // The limit of validate() for an output.
  require(shape.heads * shape.length * shape.depth <= kMaxExtent,
          "--heads x --length x --dim = " + std::to_string(shape.heads * shape.length * shape.depth) +
              ": must be at most " + std::to_string(kMaxExtent));
}

AttentionProblem production_outline(const ProductionShape& shape) {
  const auto outline = [&](std::int64_t heads) {
    Tensor tensor;
    tensor.format = shape.format;
    tensor.shape = {1, heads, shape.length, shape.depth};
    tensor.stride = dense_stride(tensor.shape);
    return tensor;
  };
  AttentionProblem problem;
  problem.q = outline(shape.heads);
  problem.k = outline(shape.kv_heads);
  problem.v = outline(shape.kv_heads);
  problem.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(shape.depth)));
  problem.causal = shape.causal;
  problem.plan = ChunkPlan::uniform(shape.length, 128);
  return problem;
}

AttentionProblem production_problem(const ProductionShape& shape, const Threads& threads) {
  check(shape);
  AttentionProblem problem = production_outline(shape);
  fill(problem.q, shape.seed, 0, threads);
  fill(problem.k, shape.seed, 1, threads);
  fill(problem.v, shape.seed, 2, threads);
  return problem;
}

}  // namespace flashproof
