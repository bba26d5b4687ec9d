// FlashAttention-3's numerical experiment: q, k, v ~ N(0,1) + N(0,100)·Bernoulli(0.001), one head of 2048 keys, d = 128,
// 64 queries; RMSE of o after its rounding, against certified truth of the stored inputs, and against that of the f32 draws
// before they were rounded to the format: FlashAttention-3's figures are of the second kind.
#include <fmt/format.h>

#include "reference/bound/declare/presets.h"
#include "reference/problem/random.h"
#include "reports/experiments/experiments.h"
#include "reports/experiments/measure.h"

namespace flashproof {
namespace {

constexpr std::int64_t kKeys = 2048, kQueries = 64, kDim = 128;

Tensor drawn(Random& random, Format stored, Format format, std::int64_t length) {
  Tensor tensor = Tensor::dense(stored, {1, 1, length, kDim});
  for (std::int64_t i = 0; i < length; ++i) {
    for (std::int64_t c = 0; c < kDim; ++c) {
      const double x = random.normal() + (random.chance(0.001) ? 10 * random.normal() : 0);
      tensor.set({0, 0, i, c}, round_to(format, x));
    }
  }
  return tensor;
}

/// Numbers of `format`; e4m3fn held in f16, so that o is an f16 as fp8 kernels return it.
Problem problem_of(std::uint64_t seed, Format format) {
  const Format stored = format == Format::e4m3fn ? Format::f16 : format;
  Random random(seed, 3);
  AttentionProblem p;
  p.q = drawn(random, stored, format, kQueries);
  p.k = drawn(random, stored, format, kKeys);
  p.v = drawn(random, stored, format, kKeys);
  p.scale = 0.08838834764831845F;  // 1/sqrt(128)
  p.plan = ChunkPlan::uniform(kKeys, 128);
  return p;
}

/// Standard attention that stores P in the input's format after normalising it.
Arithmetic stored_probabilities(Format format) {
  Arithmetic a = presets::kPytorchMath;
  a.weights.format = format;
  a.dot = {.unit = kHopperF16};
  a.values = {.unit = kHopperF16};
  return a;
}

}  // namespace

std::string outlier_rmse(std::uint64_t seed) {
  struct Row {
    const char* name;
    Format format;
    Arithmetic arithmetic;
  };
  const Row rows[] = {
      {"standard, P stored in f16", Format::f16, stored_probabilities(Format::f16)},
      {"FlashAttention-2", Format::f16, presets::kFa2Sm80F16},
      {"FlashAttention-3", Format::f16, presets::kFa3Sm90F16},
      {"standard, P stored in bf16", Format::bf16, stored_probabilities(Format::bf16)},
      {"FlashAttention-3", Format::bf16, presets::kFa3Sm90Bf16},
      {"FlashAttention-3, wgmma, P × 2^8", Format::e4m3fn, presets::kFa3Sm90Fp8},
      {"the same, promoted every 128 keys", Format::e4m3fn, presets::kFa3Sm90Fp8Promoted},
  };
  const Truth drawn_truth = compute_truth(problem_of(seed, Format::f32));
  std::string table =
      "| declaration | format | RMSE | of it the output's rounding | RMSE with the inputs' rounding | largest "
      "err/bound |\n"
      "|---|---|---|---|---|---|\n";
  for (const Row& row : rows) {
    const Problem problem = problem_of(seed, row.format);
    const experiment::Errors before = experiment::measure(problem, row.arithmetic);
    const Output output = run_model(problem, row.arithmetic);
    const Truth truth = compute_truth(problem);
    double sum = 0, rounding = 0, with_inputs = 0;
    for (std::size_t i = 0; i < truth.o.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const double computed = decode(output.o.format, output.o.bits(at));
      const double error = signed_error(computed, truth.o[i]);
      const double from_draws = signed_error(computed, drawn_truth.o[i]);
      sum += error * error;
      with_inputs += from_draws * from_draws;
      rounding += (error - before.o[i]) * (error - before.o[i]);
    }
    const auto count = static_cast<double>(truth.o.size());
    table += fmt::format("| {} | {} | {:.2e} | {:.2e} | {:.2e} | {:.2f} |\n", row.name, info(row.format).name,
                         std::sqrt(sum / count), std::sqrt(rounding / count), std::sqrt(with_inputs / count),
                         before.largest_ratio());
  }
  return table;
}

}  // namespace flashproof
